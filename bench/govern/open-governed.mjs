import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openGateway as openWholeGateway } from '../../packages/gateway/dist/compose/open-gateway.js'
import { loadSettings, prepareState, readHome } from '../../packages/gateway/dist/config/config.js'
import { openStore } from '../../packages/gateway/dist/store/store.js'
import { PROTOCOL_VERSION } from '../load/request.mjs'
import { printTools } from '../servers/catalogue.mjs'

/** A server that is never started: what it offers is put into the catalogue by hand. */
const SERVER = 'up1'
const CONFIG = { mcp_servers: { [SERVER]: { command: 'true' } } }

/** The gateway in this process, with rules and without a server: it decides like any other, and sends nothing. */
export async function openGoverned(folder, { toolCount, tools }) {
  const gateway = await openGateway(folder, { config: CONFIG, tools })
  gateway.catalog.put(SERVER, catalogueOf(toolCount))
  return gateway
}

/** A gateway in this process that has not started its servers. */
export async function openGateway(folder, { config, tools, environment: more = {} }) {
  const [home, state] = ['home', 'state'].map((name) => join(folder, name))
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'config.yaml'), JSON.stringify(config))
  writeFileSync(join(home, 'tools.yaml'), tools)
  const environment = { HOME: home, ...more }
  const loaded = await loadSettings({ home, environment, content: await readHome(home) })
  await prepareState(state)
  const store = openStore({ state, durability: 'process', retention: loaded.settings.audit.retention })
  const onWarning = (text) => process.stderr.write(`${text}\n`)
  return openWholeGateway({
    home: { path: home, origin: 'flag' },
    state,
    loaded,
    environment,
    store,
    onWarning,
  })
}

export const toolOf = (gateway, tool) => gateway.listings.toolOf({ server: SERVER, tool })

const catalogueOf = (toolCount) => ({
  era: /** @type {const} */ ('modern'),
  protocolVersion: PROTOCOL_VERSION.modern,
  serverInfo: { name: 'bench-upstream', version: '1.0.0' },
  instructions: undefined,
  capabilities: { tools: {} },
  tools: JSON.parse(printTools(toolCount)),
  resources: [],
  resourceTemplates: [],
  prompts: [],
  leftOut: [],
})
