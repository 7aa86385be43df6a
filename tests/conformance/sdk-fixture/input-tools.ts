import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { question } from './asking-tools.ts'
import { NO_ARGUMENTS, text } from './content-tools.ts'
import type { StateCodec } from './sdk-server.ts'

type Outcome = CallToolResult | InputRequiredResult

const NAME = form('What is your name?', 'name')
const CONFIRM = inputRequired.elicit({
  message: 'Please confirm',
  requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
})
const GREETING = inputRequired.createMessage(question('Generate a greeting', 50))
const ROOTS = inputRequired.listRoots()

/** Tools that return their questions: in the legacy era the SDK pushes these to the client. */
export function addInputTools(mcp: McpServer, codec: StateCodec): void {
  const add = (name: string, run: (context: ServerContext) => Outcome | Promise<Outcome>): void =>
    void mcp.registerTool(
      name,
      { description: 'Returns what it has to ask', inputSchema: NO_ARGUMENTS },
      (_args, context) => run(context),
    )
  const once = (name: string, requests: InputRequests): void =>
    add(name, async (context) => {
      if (hasAnswers(context, requests))
        return text(`Completed, state-ok: ${JSON.stringify(context.mcpReq.inputResponses)}`)
      return inputRequired({ inputRequests: requests, requestState: await codec.mint({ of: name }) })
    })
  // No question is asked here: the suite looks for requests of the server on the stream.
  add('test_streaming_elicitation', () => text('Nothing but this'))
  once('test_missing_capability', { sample: inputRequired.createMessage(question('Anything', 10)) })
  once('test_input_required_result_elicitation', { user_name: NAME })
  once('test_input_required_result_sampling', {
    capital_question: inputRequired.createMessage(question('What is the capital of France?')),
  })
  once('test_input_required_result_list_roots', { client_roots: ROOTS })
  once('test_input_required_result_request_state', { confirm: CONFIRM })
  once('test_input_required_result_tampered_state', { confirm: CONFIRM })
  once('test_input_required_result_multiple_inputs', { user_name: NAME, greeting: GREETING, client_roots: ROOTS })
  add('test_input_required_result_multi_round', (context) => takeRound(context, codec))
  add('test_input_required_result_capabilities', (context) => askWhatIsDeclared(context, mcp))
}

async function takeRound({ mcpReq }: ServerContext, codec: StateCodec): Promise<Outcome> {
  const { round = 1, name } = mcpReq.requestState<{ round?: number; name?: string }>() ?? {}
  const answered = acceptedContent<Record<string, string>>(mcpReq.inputResponses, `step${round}`)
  if (round === 2 && answered) return text(`${name} likes ${answered.color}`)
  if (round === 2 || answered)
    return inputRequired({
      inputRequests: { step2: form('Step 2: What is your favorite color?', 'color') },
      requestState: await codec.mint({ round: 2, name: answered?.name ?? name }),
    })
  return inputRequired({
    inputRequests: { step1: form('Step 1: What is your name?', 'name') },
    requestState: await codec.mint({ round: 1 }),
  })
}

function askWhatIsDeclared({ mcpReq }: ServerContext, mcp: McpServer): Outcome {
  if (mcpReq.inputResponses) return text('Asked what the client supports')
  const envelope: Record<string, ClientCapabilities | undefined> = mcpReq.envelope ?? {}
  // A legacy client declared them when it connected.
  const declared = envelope[CLIENT_CAPABILITIES_META_KEY] ?? mcp.server.getClientCapabilities() ?? {}
  const requests: InputRequests = {
    ...(declared.elicitation && { user_name: NAME }),
    ...(declared.sampling && { greeting: GREETING }),
    ...(declared.roots && { client_roots: ROOTS }),
  }
  if (Object.keys(requests).length === 0) return text('The client supports nothing of it')
  return inputRequired({ inputRequests: requests })
}

export function hasAnswers({ mcpReq: { inputResponses } }: ServerContext, requests: InputRequests): boolean {
  return Object.entries(requests).every(([key, { method }]) =>
    method === 'elicitation/create'
      ? acceptedContent(inputResponses, key) !== undefined
      : inputResponses?.[key] !== undefined,
  )
}

export function form(message: string, field: string): InputRequests[string] {
  return inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { [field]: { type: 'string' } }, required: [field] },
  })
}
