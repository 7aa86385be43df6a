import { server } from './task.mjs'

const OFF = { context: { cap: 'off' } }
const ON = { context: { cap: 8000 } }
const thinking = (strategy) => (model) => ({
  mcp_servers: { db: server({ isolated: true }) },
  isolation: { strategy, model: { provider: 'openai-compatible', name: 'scripted', base_url: `${model}/v1` } },
})

/** How results come back: `config` is a home's config.yaml, given where the model of the gateway listens. */
export const VARIANTS = [
  { name: 'cap off', config: () => ({ ...OFF, mcp_servers: { db: server({}) } }) },
  { name: 'cap of 8,000', config: () => ({ ...ON, mcp_servers: { db: server({}) } }) },
  {
    name: 'cap on, each cut result looked into',
    looks: true,
    config: () => ({ ...ON, mcp_servers: { db: server({}) } }),
  },
  { name: 'bounded', config: () => ({ mcp_servers: { db: server({ isolated: true }) } }) },
  { name: 'extract', intent: true, config: thinking('extract') },
  { name: 'agent', config: thinking('agent') },
]

/** The same with an agent that has talked much before. */
export const LATER = { ...VARIANTS.at(-1), name: 'agent, after 50,000 tokens of history', history: 50_000 }
