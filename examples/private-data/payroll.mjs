// The source of the private data: a server written with the kit. The gateway starts it, and tells it who calls.
import { createMcpServer, currentWorkspace, offerResults, privateData, READ, serveStdio } from '@sallyport/kit'

const SALARIES = { Ada: 520138, Bob: 410276, Cho: 470193 }
const MONTHS = Array.from({ length: 12 }, (_, at) => `2026-${String(at + 1).padStart(2, '0')}`)

const server = createMcpServer('payroll', {
  version: '1.0.0',
  auth: { gateway: true },
  presets: { short: { threshold: 400 } },
})

server.tool(
  'read_payroll',
  { description: 'Read the payroll of 2026', permission: READ, result: 'short' },
  async () => {
    await privateData().addPrivateDataset('salaries', 'CONFIDENTIAL')
    const rows = MONTHS.flatMap((month) => Object.entries(SALARIES).map((row) => [month, ...row].join(',')))
    const csv = ['month,name,salary', ...rows].join('\n')
    await currentWorkspace().writeFile('/workspace/payroll.csv', csv)
    return csv
  },
)

server.tool('list_files', { description: 'List the files of this session', permission: READ }, async () => {
  const { entries } = await currentWorkspace().listDirectory('/workspace')
  return entries.map(({ name }) => name)
})

offerResults(server)
await serveStdio(server)
