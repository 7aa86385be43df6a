import type { CallToolResult, ElicitRequestFormParams, ElicitResult, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { NO_ARGUMENTS, text } from './content-tools.ts'

type Fields = ElicitRequestFormParams['requestedSchema']['properties']

const PLAIN = ['option1', 'option2', 'option3']

/** The five ways to write a choice, the deprecated one among them. */
const CHOICES: Fields = {
  untitledSingle: { type: 'string', enum: PLAIN },
  titledSingle: { type: 'string', oneOf: titled('Option') },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: PLAIN } },
  titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
}

const DEFAULTS: Fields = {
  name: { type: 'string', description: 'User name', default: 'John Doe' },
  age: { type: 'integer', description: 'User age', default: 30 },
  score: { type: 'number', description: 'User score', default: 95.5 },
  status: { type: 'string', description: 'User status', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', description: 'Verification status', default: true },
}

/** Tools that push their questions in the middle of a call, which only the legacy era allows. */
export function addAskingTools(mcp: McpServer): void {
  const description = 'Asks the client while it works'
  mcp.registerTool(
    'test_sampling',
    { description, inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const { content } = await mcpReq.send({ method: 'sampling/createMessage', params: question(prompt) })
      return text(`LLM response: ${'text' in content ? content.text : ''}`)
    },
  )
  mcp.registerTool(
    'test_elicitation',
    { description, inputSchema: z.object({ message: z.string() }) },
    async ({ message }, { mcpReq }) => {
      const fields: Fields = {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      }
      return shown(await mcpReq.send({ method: 'elicitation/create', params: formOf(message, fields) }))
    },
  )
  const config = { description, inputSchema: NO_ARGUMENTS }
  mcp.registerTool('test_elicitation_sep1034_defaults', config, async (_args, { mcpReq }) =>
    shown(await mcpReq.elicitInput(formOf('Please review', DEFAULTS))),
  )
  // Not the call asks here but the server: over HTTP that goes to the stream of the session.
  mcp.registerTool('test_elicitation_sep1330_enums', config, async () =>
    shown(await mcp.server.elicitInput(formOf('Please choose', CHOICES))),
  )
}

function formOf(message: string, properties: Fields): ElicitRequestFormParams {
  return { message, requestedSchema: { type: 'object', properties } }
}

function shown(answer: ElicitResult): CallToolResult {
  return text(`User response: ${JSON.stringify(answer)}`)
}

export function question(prompt: string, maxTokens = 100) {
  return { messages: [{ role: 'user' as const, content: { type: 'text' as const, text: prompt } }], maxTokens }
}

function titled(noun: string): { const: string; title: string }[] {
  return ['First', 'Second', 'Third'].map((ordinal, at) => ({ const: `value${at + 1}`, title: `${ordinal} ${noun}` }))
}
