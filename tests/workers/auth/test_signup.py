from tests.workers.auth.house import *
async def test_x(house):
    s = await house.sign_up(data={"a": 1})
    print(s)
    print(await house.refresh(s.refresh_token))
    print(await house.refused("POST","/signup",{"email":s.email,"password":PASSWORD}))
