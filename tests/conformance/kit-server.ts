import { setTimeout as delay } from 'node:timers/promises'
import {
  type CallContext,
  CONNECT,
  createMcpServer,
  type McpServer,
  READ,
  type Registration,
  textContent,
  toolResult,
} from '@sallyport/kit'
import { PIXEL, SILENCE } from './fixture/media.ts'
import { addKitPrompts, addKitResources } from './kit-definitions.ts'

/** Between two notices of one call: long enough that a carrier which waits for the result would show. */
const PAUSE = 50

const NAME = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } as const
const CONFIRMATION = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] } as const

/** A server written with the kit that has everything the conformance suite asks for by name. */
export function createConformingServer(): McpServer {
  const server = createMcpServer('kit-conformance', { version: '1.0.0', dev: true })
  addContentTools(server)
  addNoticeTools(server)
  addSchemaTools(server)
  addChangers(server)
  addFormTools(server)
  addAskingTools(server)
  addKitResources(server)
  addKitPrompts(server)
  return server
}

type Run = (args: Record<string, any>, context: CallContext) => unknown

function add(server: McpServer, name: string, run: Run): Registration {
  return server.tool(name, { description: `The suite calls this: ${name}`, permission: READ }, run)
}

function addContentTools(server: McpServer): void {
  const embedded = (uri: string, mimeType: string, text: string) => ({
    type: 'resource',
    resource: { uri, mimeType, text },
  })
  const text = textContent('Multiple content types test:')
  const data = embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}')
  add(server, 'test_simple_text', () => 'This is a simple text response for testing.')
  add(server, 'test_image_content', () => toolResult({ content: [PIXEL] }))
  add(server, 'test_audio_content', () => toolResult({ content: [SILENCE] }))
  add(server, 'test_embedded_resource', () =>
    toolResult({
      content: [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
    }),
  )
  add(server, 'test_multiple_content_types', () => toolResult({ content: [text, PIXEL, data] }))
  add(server, 'test_error_handling', () =>
    toolResult({ content: [textContent('This tool intentionally returns an error for testing')], isError: true }),
  )
}

function addNoticeTools(server: McpServer): void {
  add(server, 'test_tool_with_logging', async (_args, context) => {
    for (const step of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      context.log('info', step)
      await delay(PAUSE)
    }
    return 'Tool with logging executed successfully'
  })
  add(server, 'test_logging_tool', (_args, context) => {
    context.log('info', 'A line of the log')
    return 'Logged, if it was asked for'
  })
  add(server, 'test_tool_with_progress', async (_args, context) => {
    for (const progress of [0, 50, 100]) {
      context.progress(progress, 100)
      await delay(PAUSE)
    }
    return 'Tool with progress executed successfully'
  })
}

function addSchemaTools(server: McpServer): void {
  const description = 'Tool with JSON Schema 2020-12 features'
  const address = {
    $anchor: 'addressDef',
    type: 'object',
    properties: { street: { type: 'string' }, city: { type: 'string' } },
  }
  const input = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { address },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  } as const
  server.tool('json_schema_2020_12_tool', { description, permission: READ, input }, (args) => JSON.stringify(args))
  const region = { type: 'string', 'x-mcp-header': 'Region' } as const
  server.tool(
    'test_param_headers',
    {
      description: 'Wants its region repeated in a header',
      permission: CONNECT,
      input: { type: 'object', properties: { region }, required: ['region'] },
    },
    (args) => `Region: ${args.region}`,
  )
}

function addChangers(server: McpServer): void {
  let tool: Registration | undefined
  let prompt: Registration | undefined
  add(server, 'test_trigger_tool_change', () => {
    tool = tool === undefined ? add(server, 'test_dynamic_tool', () => 'I am here') : void tool.remove()
    return 'Changed'
  })
  add(server, 'test_trigger_prompt_change', () => {
    prompt =
      prompt === undefined
        ? server.prompt('test_dynamic_prompt', { description: 'Comes and goes' }, () => 'I am here')
        : void prompt.remove()
    return 'Changed'
  })
}

/** Choices in all five ways, and defaults of all types. */
function addFormTools(server: McpServer): void {
  const values = ['First', 'Second', 'Third'].map((title, at) => ({
    const: `value${at + 1}`,
    title: `${title} Option`,
  }))
  const plain = ['option1', 'option2', 'option3']
  const choices = {
    untitledSingle: { type: 'string', enum: plain },
    titledSingle: { type: 'string', oneOf: values },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: plain } },
    titledMulti: { type: 'array', items: { anyOf: values } },
  } as const
  const defaults = {
    name: { type: 'string', description: 'User name', default: 'John Doe' },
    age: { type: 'integer', description: 'User age', default: 30 },
    score: { type: 'number', description: 'User score', default: 95.5 },
    status: { type: 'string', description: 'User status', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', description: 'Verification status', default: true },
  } as const
  for (const [name, properties] of Object.entries({ sep1330_enums: choices, sep1034_defaults: defaults }))
    add(server, `test_elicitation_${name}`, async (_args, context) => {
      const schema = { type: 'object', properties } as const
      return `Completed: ${JSON.stringify(await context.elicit({ message: 'Please choose', schema }))}`
    })
}

/** Tools that ask the client before they answer: written once for both eras. */
function addAskingTools(server: McpServer): void {
  const words = (text: string) => [{ role: 'user', content: { type: 'text', text } }]
  const message = { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] } as const
  const prompt = { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] } as const
  const who = {
    type: 'object',
    properties: {
      username: { type: 'string', description: "User's response" },
      email: { type: 'string', description: "User's email address" },
    },
    required: ['username', 'email'],
  } as const
  server.tool('test_elicitation', { description: 'Asks', permission: READ, input: message }, async (args, context) => {
    const answer = await context.elicit({ message: args.message, schema: who })
    return `User response: ${JSON.stringify(answer)}`
  })
  server.tool(
    'test_sampling',
    { description: 'Asks a model', permission: READ, input: prompt },
    async (args, context) => {
      const answer = await context.sample({ messages: words(args.prompt), maxTokens: 100 })
      return `LLM response: ${(answer.content as Record<string, any>).text}`
    },
  )
  const once = (name: string, ask: (context: CallContext) => Promise<unknown>): void => {
    add(server, name, async (_args, context) => `Completed, state-ok: ${JSON.stringify(await ask(context))}`)
  }
  const name = (context: CallContext) =>
    context.elicit({ message: 'What is your name?', schema: NAME, key: 'user_name' })
  const confirm = (context: CallContext) =>
    context.elicit({ message: 'Please confirm', schema: CONFIRMATION, key: 'confirm' })
  const greet = (context: CallContext) =>
    context.sample({ messages: words('Generate a greeting'), maxTokens: 50, key: 'greeting' })
  const roots = (context: CallContext) => context.listRoots({ key: 'client_roots' })
  once('test_missing_capability', (context) => context.sample({ messages: words('Anything'), maxTokens: 10 }))
  once('test_streaming_elicitation', confirm)
  once('test_input_required_result_elicitation', name)
  once('test_input_required_result_list_roots', roots)
  once('test_input_required_result_request_state', confirm)
  once('test_input_required_result_tampered_state', confirm)
  once('test_input_required_result_multiple_inputs', (context) =>
    Promise.all([name(context), greet(context), roots(context)]),
  )
  once('test_input_required_result_sampling', (context) =>
    context.sample({ messages: words('What is the capital of France?'), maxTokens: 100, key: 'capital_question' }),
  )
  once('test_input_required_result_multi_round', async (context) => {
    const color = { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] } as const
    const first = await context.elicit({ message: 'Step 1: What is your name?', schema: NAME, key: 'step1' })
    const second = await context.elicit({
      message: 'Step 2: What is your favorite color?',
      schema: color,
      key: 'step2',
    })
    return [first, second]
  })
  once('test_input_required_result_capabilities', (context) =>
    Promise.all([context.canAsk('elicitation') && name(context), context.canAsk('sampling') && greet(context)]),
  )
}
