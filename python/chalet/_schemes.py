"""What the URL of a server begins with: the native protocol or HTTP, without encryption and with it."""

SERVERS = ("clickhouse://", "clickhouses://", "http://", "https://")
