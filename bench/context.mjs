import { writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

/** Where `npm run test:agents` puts agents. The harness looks there as it is loaded. */
process.env.SALLYPORT_AGENTS_CACHE ??= join(homedir(), '.cache/sallyport-agents')

const { AGENT_CLIS, findInstalled } = await import('./context/harness.mjs')
const { measureAgent, measureVariant } = await import('./context/measure.mjs')
const { printContextPage } = await import('./context/page.mjs')
const { LATER, VARIANTS } = await import('./context/variants.mjs')

const PAGE = fileURLToPath(new URL('../docs/context-benchmarks.md', import.meta.url))
/** The ways that are told apart by agents: the others differ in what the gateway does. */
const WITH_AGENTS = ['cap off', 'cap of 8,000', 'extract']
const USAGE = `npm run bench:context -- [options]

  --agents LIST   real agents, with commas; "none" for none (claude-code,codex,gemini-cli)
  --write         write docs/context-benchmarks.md`

const say = (text) => process.stderr.write(`${text}\n`)

async function measure(wanted) {
  const variants = []
  for (const variant of [...VARIANTS, LATER]) {
    say(`${variant.name} …`)
    variants.push(await measureVariant(variant))
  }
  return { variants, ...(await measureAgents(wanted)) }
}

async function measureAgents(wanted) {
  const agents = []
  const leftOut = []
  for (const id of wanted) {
    const cli = AGENT_CLIS.find((known) => known.id === id)
    const installed = cli && findInstalled(id)
    if (!installed) leftOut.push(cli ? `${id} is not installed (\`npm run test:agents -- ${id}\`)` : `${id} is unknown`)
    for (const variant of installed ? VARIANTS.filter(({ name }) => WITH_AGENTS.includes(name)) : []) {
      say(`${id}, ${variant.name} …`)
      await measureAgent(cli, installed, variant).then(
        (row) => agents.push(row),
        (error) => leftOut.push(error.message),
      )
    }
  }
  return { agents, leftOut }
}

const { values } = parseArgs({
  options: {
    agents: { type: 'string', default: 'claude-code,codex,gemini-cli' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) console.log(USAGE)
else {
  const page = printContextPage(await measure(values.agents.split(',').filter((id) => id !== 'none' && id !== '')))
  console.log(page)
  if (values.write) writeFileSync(PAGE, page)
}
