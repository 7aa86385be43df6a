// How long it takes to write one more tool into a tools.yaml that has many, until it is in force.
//   node appends.mjs FILE APPENDS   prints the milliseconds of each, in order
import { readFileSync } from 'node:fs'
import { ToolsEditor } from '../../packages/gateway/dist/governance/governance.js'

const [path, appends] = process.argv.slice(2)

const entryOf = (number) => ({
  name: `mcp__up1__get_item_${number}_of_${process.pid}`,
  description: 'Return an item of the inventory',
  discoveredAt: new Date(),
  findings: [],
  category: 'mcp',
  permission: { value: /** @type {const} */ (['READ', 'CONNECT']), reason: '"get"' },
  riskLevel: { value: /** @type {const} */ ('low'), reason: '"get"' },
  requiresApproval: false,
  allowedInModes: /** @type {const} */ (['NORMAL', 'ALERT', 'DEGRADED']),
  pin: `sha256-${String(number).padStart(64, '0')}`,
})

const editor = new ToolsEditor({
  path,
  bytes: readFileSync(path),
  findTrustProblem: async () => undefined,
  onWritten: async () => {},
  onChange: () => {},
  record: () => {},
  onWarning: (text) => process.stderr.write(`${text}\n`),
})

const times = []
for (let number = 0; number < Number(appends); number++) {
  const entry = entryOf(number)
  const from = performance.now()
  await editor.append([entry])
  times.push(performance.now() - from)
  if (!editor.file.entries.some(({ key }) => key === entry.name)) throw new Error('the new entry is not in force')
}
console.log(JSON.stringify(times))
await editor.close()
