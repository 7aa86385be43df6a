import { setTimeout as delay } from 'node:timers/promises'
import type { McpServer, ServerNotifier } from '@modelcontextprotocol/server'
import { NO_ARGUMENTS, text } from './content-tools.ts'

/** Between two notices of one call: long enough that a relay which waits for the result would show. */
const PAUSE = 50

/** Tools that send something besides their result. */
export function addNoticeTools(mcp: McpServer, announce: ServerNotifier | undefined): void {
  const config = { description: 'Sends more than its result', inputSchema: NO_ARGUMENTS }
  mcp.registerTool('test_tool_with_logging', config, async (_args, { mcpReq }) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } })
      await delay(PAUSE)
    }
    return text('Tool with logging executed successfully')
  })
  mcp.registerTool('test_logging_tool', config, async (_args, { mcpReq }) => {
    await mcpReq.log('info', 'A line of the log')
    return text('Logged, if it was asked for')
  })
  mcp.registerTool('test_tool_with_progress', config, async (_args, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken
    if (progressToken === undefined) return text('Nobody wants to know')
    for (const progress of [0, 50, 100]) {
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
      await delay(PAUSE)
    }
    return text('Tool with progress executed successfully')
  })
  mcp.registerTool('test_reconnection', config, async (_args, { http }) => {
    http?.closeSSE?.()
    await delay(PAUSE)
    return text('Reconnection test completed successfully')
  })
  addAnnouncers(mcp, announce)
}

/** They announce a change and change nothing: servers do that, and it is for their clients to look. */
function addAnnouncers(mcp: McpServer, announce: ServerNotifier | undefined): void {
  const config = { description: 'Announces a changed list', inputSchema: NO_ARGUMENTS }
  mcp.registerTool('test_trigger_tool_change', config, () => {
    if (announce) announce.toolsChanged()
    else mcp.sendToolListChanged()
    return text('Announced')
  })
  mcp.registerTool('test_trigger_prompt_change', config, () => {
    if (announce) announce.promptsChanged()
    else mcp.sendPromptListChanged()
    return text('Announced')
  })
}
