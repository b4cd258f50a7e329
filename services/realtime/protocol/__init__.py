"""The socket protocol of Realtime: frames in both versions, the payload of a join, and WebSocket framing."""
