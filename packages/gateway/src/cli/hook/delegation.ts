import { isServerId, plainName, quoteText, slugServerId, type ToolRef } from '@sallyport/core'
import { EXECUTOR_NAME, type HookAgent, type HookCall, type ModelCall } from './hook-agent.ts'

const MAX_NAME = 80
/** More would fill the context that isolation keeps free. */
const MAX_INPUT = 4_000

export interface DelegationOptions {
  /** What the agent calls our gateway, where it has it. */
  readonly gateway: string | undefined
  /** What our own configuration calls the server, where it has it. */
  readonly configuredName: string | undefined
  readonly agent: HookAgent
}

/** What the model is told instead of a result. The call that it is to make stands in it as JSON (ISO-18). */
export function formatDelegation(
  ref: ToolRef,
  call: HookCall,
  { gateway, configuredName, agent }: DelegationOptions,
): string {
  const [tool, server] = [quoteText(ref.tool, MAX_NAME), quoteText(ref.server, MAX_NAME)]
  const input = limitInput(call)
  const why = `The tool ${tool} of the server ${server} is isolated: its result is not to enter this conversation as it is.`
  if (gateway !== undefined && configuredName !== undefined) {
    const name = agent.toolName(
      gateway,
      plainName({ server: isServerId(configuredName) ? configuredName : slugServerId(configuredName), tool: ref.tool }),
    )
    const instead = JSON.stringify({ tool: name, ...(input !== undefined && { arguments: input }) })
    return `${why} Call the same tool through the gateway instead, ${describeInput(input)}:\n${instead}`
  }
  const task = { serverName: ref.server, toolName: ref.tool, ...(input !== undefined && { toolInput: input }) }
  const instead: ModelCall = agent.createDelegation(JSON.stringify(task), `Run ${ref.tool}`.slice(0, MAX_NAME))
  return [
    `${why} Hand the call to the sub-agent ${EXECUTOR_NAME} instead, ${describeInput(input)}:\n${JSON.stringify(instead)}`,
    `If there is no ${EXECUTOR_NAME}, tell the user to run \`sallyport hook install --print\`.`,
  ].join('\n')
}

function limitInput({ input }: HookCall) {
  const value = input ?? {}
  return JSON.stringify(value).length <= MAX_INPUT ? value : undefined
}

const describeInput = (input: unknown): string =>
  input === undefined ? 'with the arguments of this call, which are too long to repeat here' : 'like this'
