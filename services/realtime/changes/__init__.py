"""The feed of row changes: which subscriber of this process receives which change. Created by `feed.open_feed`."""
