/** The tables of a run, for the terminal and for docs/interop.md. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FEATURES } from './features.mjs'
import { HERE } from './sdks.mjs'

const PAGE = join(HERE, '../../docs/interop.md')
const BEGIN = '<!-- Written by `npm run interop -- --write`. -->'
const END = '<!-- End of what is written. -->'
const SIGNS = { same: '=', differs: '≠', 'not offered': '–', 'only through': '+' }

export function createReport({ rows, installed, missing }) {
  const title = (id) => `${installed.get(id).title} ${installed.get(id).version}`
  const where = ({ server, client, transport, era }) =>
    `${title(server)}, client ${title(client)}, ${transport}, ${era}`
  const cells = (verdicts) =>
    rows.flatMap((row) =>
      Object.entries(row.cells)
        .filter(([, { verdict }]) => verdicts.includes(verdict))
        .map(([feature, { detail }]) => ({ feature, row, text: `${where(row)}: ${feature}: ${oneLine(detail)}` })),
    )
  const differences = cells(['differs'])
  const versions = [...installed.values()].map((sdk) => `| ${sdk.title} | ${sdk.version} | ${sdk.eras.join(', ')} |`)
  const table = tables(rows, title)
  const text = [
    table,
    '',
    differences.length === 0 ? 'Nothing differs.' : `${differences.length} differences:`,
    ...differences.map((one) => `- ${one.text}`),
    '',
    'Not done directly either, so not compared:',
    ...cells(['not offered', 'only through']).map((one) => `- ${one.text}`),
    ...missing.map((one) => `Missing: ${one}`),
  ].join('\n')
  return { text, differences, versions, table, missing, left: grouped(cells(['not offered', 'only through']), title) }
}

const oneLine = (text) => (text ?? '').replaceAll(/\s+/g, ' ').slice(0, 260)

/** One column for each server and era; a cell sums up the clients and the transports. */
function tables(rows, title) {
  const columns = [...new Set(rows.map(({ server, era }) => `${server} ${era}`))]
  const head = columns.map((name) => `${title(name.split(' ')[0])}, ${name.split(' ')[1]}`)
  const lines = Object.keys(FEATURES).map((feature) => {
    const found = columns.map((name) => {
      const own = rows.filter(({ server, era }) => `${server} ${era}` === name)
      return own.map(({ cells }) => SIGNS[cells[feature].verdict]).join('')
    })
    return `| ${feature} | ${found.join(' | ')} |`
  })
  return [`| feature | ${head.join(' | ')} |`, `|---|${columns.map(() => '---|').join('')}`, ...lines].join('\n')
}

/** What is not offered, once for each server and client. */
function grouped(cells, title) {
  const lines = new Map()
  for (const { feature, row } of cells) {
    const key = `${title(row.server)} with a client of ${title(row.client)}`
    lines.set(key, [...(lines.get(key) ?? []), `${feature} (${row.transport}, ${row.era})`])
  }
  return [...lines].map(([key, features]) => `- ${key}: ${features.join(', ')}`)
}

/** Replaces the part of the page between its two marks. */
export function writePage({ versions, table, differences, left, missing }) {
  const page = readFileSync(PAGE, 'utf8')
  const [before] = page.split(BEGIN)
  const after = page.split(END)[1] ?? '\n'
  const written = [
    '| SDK | version | eras |\n|---|---|---|',
    versions.join('\n'),
    '',
    table,
    '',
    differences.length === 0 ? 'Nothing differed.' : `These ${differences.length} differed:\n`,
    ...differences.map(({ text }) => `- ${text.replaceAll('|', '\\|').replaceAll('<', '&lt;')}`),
    ...(left.length > 0
      ? ['\nNot compared, since the client and the server do not do it without the gateway either:\n', ...left]
      : []),
    ...missing.map((one) => `\nNot installed: ${one}`),
  ]
  writeFileSync(PAGE, `${before}${BEGIN}\n\n${written.join('\n')}\n\n${END}${after}`)
}
