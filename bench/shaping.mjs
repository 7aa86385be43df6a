import { PRESETS, shapeText } from '../packages/core/dist/index.js'

/** CPU per MB of shaping each kind of text. Build first, then: node bench/shaping.mjs */
const MEGABYTES = 10
const ROUNDS = 5

const repeated = (line) => {
  const lines = []
  for (let length = 0, index = 0; length < MEGABYTES * 1_000_000; index++) {
    lines.push(line(index))
    length += lines.at(-1).length + 1
  }
  return lines
}

const TEXTS = {
  'json, rows': `[${repeated((id) => `{"id": ${id}, "name": "row ${id}", "tags": ["a", "b"]}`).join(',\n')}]`,
  'json, numbers': `[${repeated((id) => String(id)).join(',')}]`,
  'json, one text': JSON.stringify(repeated((id) => `line ${id}`).join('\n')),
  'json lines': repeated((id) => `{"id": ${id}, "message": "something happened"}`).join('\n'),
  csv: ['id,name,text', ...repeated((id) => `${id},"name ${id}","two\nlines"`)].join('\n'),
  log: repeated((id) => `2026-01-02T03:04:05Z INFO request ${id} took 12 ms`).join('\n'),
  markdown: repeated((id) => `## Part ${id}\n\nSome text and a [link](x).\n`).join('\n'),
  html: `<!doctype html>${repeated((id) => `<li class="item"><a href="/${id}">Item ${id}</a></li>`).join('\n')}`,
  yaml: repeated((id) => `key${id}:\n  - one\n  - two: 2`).join('\n'),
  'one line': repeated((id) => `word${id}`).join(' '),
}

function cpuPerMegabyte(text) {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage()
    shapeText(text, PRESETS.default)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000 / (text.length / 1_000_000)
  })
  return rounds.sort((one, other) => one - other)[Math.floor(ROUNDS / 2)]
}

for (const [kind, text] of Object.entries(TEXTS)) {
  const { kind: found, text: shown } = shapeText(text, PRESETS.default)
  console.log(
    `${kind.padEnd(16)} ${found.padEnd(9)} ${cpuPerMegabyte(text).toFixed(1).padStart(6)} ms/MB  ${shown.length} shown`,
  )
}
