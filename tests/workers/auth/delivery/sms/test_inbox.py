"""Text messages in the development inbox."""

from tests.workers.auth.delivery.smtp_server import mail_server
from workers.auth.delivery.sms.inbox import InboxSender
from workers.auth.delivery.sms.sender import SmsChannel, SmsMessage
from workers.auth.delivery.smtp import Mailer, SmtpEndpoint


async def test_text_message_becomes_an_email_to_the_number() -> None:
    async with mail_server() as server:
        mailer = Mailer(SmtpEndpoint("127.0.0.1", server.port))
        sent = await InboxSender(mailer).send(
            SmsMessage("+4915112345678", "Code ü 1\ud800", "1", SmsChannel.WHATSAPP)
        )
        await mailer.close()

        [email] = server.messages
        assert sent.startswith("whatsapp-")
        assert email["To"] == "4915112345678@sms.localhost"
        assert email["Subject"] == "WHATSAPP to +4915112345678"
        assert email.get_content().strip() == "Code ü 1?"
