"""Several projects on one server: a front gateway that routes by host name or path, and a platform for each project that sleeps while idle."""
