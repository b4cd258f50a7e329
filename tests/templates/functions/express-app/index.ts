// Express on Node's own server.
import express from "npm:express@4.18.2";

const app = express();
app.use(express.json());
const port = 3000;

app.get("/express-app", (_req: any, res: any) => {
  res.send("Hello from Express");
});
app.post("/express-app/echo", (req: any, res: any) => {
  res.status(201).json({ echoed: req.body });
});

app.listen(port, () => console.log(`Listening on ${port}`));
