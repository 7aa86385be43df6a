import {
  type GetPromptResult,
  inputRequired,
  type McpServer,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { PIXEL } from '../fixture/media.ts'
import { form, hasAnswers } from './input-tools.ts'

type Content = GetPromptResult['messages'][number]['content']

export function addResources(mcp: McpServer): void {
  const plain = { mimeType: 'text/plain' }
  mcp.registerResource('static-text', 'test://static-text', plain, ({ href }) => ({
    contents: [{ uri: href, ...plain, text: 'This is the content of the static text resource.' }],
  }))
  mcp.registerResource('static-binary', 'test://static-binary', { mimeType: 'image/png' }, ({ href }) => ({
    contents: [{ uri: href, mimeType: 'image/png', blob: PIXEL.data }],
  }))
  mcp.registerResource('watched-resource', 'test://watched-resource', plain, ({ href }) => ({
    contents: [{ uri: href, ...plain, text: 'This is the content of the watched resource.' }],
  }))
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined })
  mcp.registerResource('template', template, { mimeType: 'application/json' }, ({ href }, { id }) => {
    const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
    return { contents: [{ uri: href, mimeType: 'application/json', text: data }] }
  })
  mcp.server.setRequestHandler('resources/subscribe', () => ({}))
  mcp.server.setRequestHandler('resources/unsubscribe', () => ({}))
}

export function addPrompts(mcp: McpServer): void {
  const description = 'The suite gets this'
  mcp.registerPrompt('test_simple_prompt', { description }, () => say(words('This is a simple prompt for testing.')))
  mcp.registerPrompt(
    'test_prompt_with_arguments',
    { description, argsSchema: z.object({ arg1: z.string(), arg2: z.string() }) },
    ({ arg1, arg2 }) => say(words(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  )
  mcp.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description, argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => {
      const resource = { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' }
      return say({ type: 'resource', resource }, words('Please process the embedded resource above.'))
    },
  )
  mcp.registerPrompt('test_prompt_with_image', { description }, () =>
    say(PIXEL, words('Please analyze the image above.')),
  )
  const requests = { user_context: form('What context should the prompt use?', 'context') }
  mcp.registerPrompt('test_input_required_result_prompt', { description }, (context: unknown) => {
    // Without arguments the context is the only parameter, which the types do not say.
    const { mcpReq } = context as ServerContext
    if (!hasAnswers(context as ServerContext, requests)) return inputRequired({ inputRequests: requests })
    return say(words(`The context is ${JSON.stringify(mcpReq.inputResponses)}`))
  })
}

function say(...contents: readonly Content[]): GetPromptResult {
  return { messages: contents.map((content) => ({ role: 'user', content })) }
}

function words(text: string): Content {
  return { type: 'text', text }
}
