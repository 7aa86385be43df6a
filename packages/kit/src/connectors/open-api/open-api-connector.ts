import { type JsonObject, SallyportError } from '@sallyport/core'
import { ConnectorError } from '../connector-error.ts'
import { type Api, type ApiSettings, readApi } from './api.ts'

let configured: ReadonlyMap<string, Api> | undefined

function findApi(name: string): Api {
  if (configured === undefined)
    throw new SallyportError('USAGE', 'OpenApiConnector has no APIs.', {
      hint: 'Call OpenApiConnector.configure({ … }) first.',
    })
  const api = configured.get(name)
  if (api !== undefined) return api
  throw new ConnectorError(
    `There is no API ${JSON.stringify(name)}. There are: ${[...configured.keys()].join(', ')}.`,
    {
      retryable: true,
    },
  )
}

/** The APIs of this program, by name. `readApi` reads a single one. */
export const OpenApiConnector = {
  async configure(apis: Readonly<Record<string, ApiSettings>>): Promise<void> {
    const read = Object.entries(apis).map(async ([name, settings]) => [name, await readApi(settings)] as const)
    configured = new Map(await Promise.all(read))
  },
  listApis: (): readonly string[] => [...(configured?.keys() ?? [])],
  listOperations: (api: string) => findApi(api).listOperations(),
  describeOperation: (api: string, id: string) => findApi(api).describeOperation(id),
  call: (api: string, id: string, options: { readonly args?: JsonObject; readonly signal?: AbortSignal } = {}) =>
    findApi(api).call(id, options.args, options),
  tools: (api: string, ids?: readonly string[]) => findApi(api).tools(ids),
}
