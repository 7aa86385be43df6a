// node examples/private-data/run.mjs [folder]
//
// The folder is kept, so that you can look at the records. Without one, nothing is left.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const [folder] = process.argv.slice(2)
const BUILT = fileURLToPath(new URL('../../packages/gateway/dist/cli/main.js', import.meta.url))
if (!existsSync(BUILT)) stop('This example runs in the built repository. In its root: npm ci && npm run build')
if (folder !== undefined && existsSync(folder)) stop(`${folder} exists already. Name a new folder.`)

const work = folder === undefined ? mkdtempSync(join(tmpdir(), 'private-data-')) : resolve(folder)
mkdirSync(work, { recursive: true })
// The gateway is ended by then, however the run ends.
process.once('exit', () => folder === undefined && rmSync(work, { recursive: true, force: true, maxRetries: 5 }))
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

const { play } = await import('./story.mjs')
const { heading, say, show } = await import('./transcript.mjs')
const { chat, charts, chartsIsolated, ledger } = await play(work)

heading('What arrived')
const servers = { chat, charts, 'charts (isolated)': chartsIsolated, ledger }
for (const [name, { texts }] of Object.entries(servers)) {
  show(`${name}:`, '  ')
  show(texts.join('\n'))
}

// Long enough not to be part of a port or an id by chance.
const salaries = ['520138', '410276', '470193']
const leaked = salaries.filter((salary) => `${chat.received()}${charts.received()}`.includes(salary))
say('')
say(
  leaked.length === 0
    ? 'In all that chat and charts received there is none of the salaries.'
    : `These salaries left: ${leaked.join(', ')}.`,
)
if (folder !== undefined) {
  const received = Object.entries(servers).map(([name, { texts, received }]) => [name, { texts, received: received() }])
  writeFileSync(join(work, 'received.json'), JSON.stringify(Object.fromEntries(received)))
  say(`\nThe records: npx sallyport audit --home ${work}/home --state ${work}/state`)
}
process.exit(leaked.length === 0 ? 0 : 1)

function stop(message) {
  console.error(message)
  process.exit(1)
}
