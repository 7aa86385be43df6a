import { isJsonObject, SallyportError } from '@sallyport/core'
import { MODERN_TASKS } from '../catalog/catalog.ts'
import type { ClientRequest, Reply } from './client-request.ts'
import { failureReply } from './failure-reply.ts'

/** Why something about a task cannot be told: it is nobody's, or another caller's. */
export function taskRefusal(request: ClientRequest, taskId: string): Reply {
  if (request.era === 'modern' && !knowsTasks(request.client)) {
    const requiredCapabilities = { extensions: { [MODERN_TASKS]: {} } }
    return failureReply(request, tasksUndeclared(), { data: { requiredCapabilities } })
  }
  const unknown = new SallyportError('INVALID_PARAMS', `There is no task ${JSON.stringify(taskId.slice(0, 200))}.`, {
    hint: 'Only its own caller can ask for it, and only until the gateway ends. Call the tool again.',
  })
  return failureReply(request, unknown)
}

const tasksUndeclared = (): SallyportError =>
  new SallyportError('CAPABILITY_MISSING', 'The client does not say that it knows tasks.', {
    hint: `It has to declare ${MODERN_TASKS} among the extensions of its capabilities.`,
  })

const knowsTasks = ({ capabilities: { extensions } }: ClientRequest['client']): boolean =>
  isJsonObject(extensions) && extensions[MODERN_TASKS] !== undefined
