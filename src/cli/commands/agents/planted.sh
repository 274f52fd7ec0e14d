#!/bin/sh
# An MCP server that only `proctor agents probe` has planted; whoever lists its tool was not kept from it.
while read -r line; do
    id=$(printf '%s\n' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
    [ -n "$id" ] || continue
    case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"planted","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"planted_tool","description":"Says hello","inputSchema":{"type":"object","properties":{}}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"hello from the planted server"}]}' ;;
    *) result='{}' ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
