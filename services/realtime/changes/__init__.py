"""The feed: which subscriber of this process gets which row change. `feed.open_feed` makes one."""
