import { SallyportError } from '@sallyport/core'
import { type FoundServer, mergeServers } from '../../agents/agents.ts'
import { type Environment, loadSettings, parseTree, readWrittenServers } from '../../config/config.ts'
import type { FoundHome } from '../find-home.ts'

/** Finds the gateway's server that is the same as a server of an agent. */
export type ServerFinder = (server: FoundServer) => FoundServerId

type FoundServerId = { readonly ok: true; readonly id: string } | { readonly ok: false; readonly why: string }

const IMPORT_HINT = '`sallyport import` puts it behind the gateway, where single tools can be selected.'

/** Uses the same comparison as an import. Nothing of the home is applied. */
export async function createServerFinder(
  { home, content }: Pick<FoundHome, 'home' | 'content'>,
  environment: Environment,
): Promise<ServerFinder> {
  try {
    const text = (content.files.get('config.yaml') ?? content.files.get('config.json'))?.toString('utf8')
    const tree = parseTree(text ?? '')
    const { settings } = await loadSettings({ home: home.path, environment, content, tree })
    const written = readWrittenServers('config.yaml', tree)
    const enabledIds = new Set(settings.servers.filter(({ enabled }) => enabled).map(({ id }) => id))
    const existing = new Map(written.ok ? [...written.servers].filter(([id]) => enabledIds.has(id)) : [])
    const options = { existing, port: settings.gateway.port, lookup: (name: string) => environment[name] }
    return (server) => {
      const plan = mergeServers({ ...options, found: [server], secrets: 'hide', projects: 'take' })
      const [present, skipped] = [plan.present[0], plan.skipped[0]]
      if (present !== undefined) return { ok: true, id: present.id }
      return { ok: false, why: skipped === undefined ? IMPORT_HINT : `The gateway cannot use it: ${skipped.why}` }
    }
  } catch (error) {
    if (!(error instanceof SallyportError)) throw error
    const why = `The gateway cannot offer it: its own configuration has errors (\`sallyport doctor\`).`
    return () => ({ ok: false, why })
  }
}
