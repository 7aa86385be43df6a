import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const SHOWN = 25
/** The build joins modules into few files and leaves each one's path above it. */
const MODULE_MARK = /^\/\/ (?:#region )?((?:\.\.\/|src\/|node_modules\/)\S+)$/

/** Where a CPU profile's time went: self time by function and by source file. */
export function printProfile(profile, calls) {
  const self = selfTimes(profile)
  const total = sum(self.map(({ us }) => us))
  const line = ([name, us]) =>
    `${((us / total) * 100).toFixed(1).padStart(5)} %  ${(us / calls).toFixed(1).padStart(8)} µs/call  ${name}`
  const top = (nameOf) =>
    [...totalsBy(self, nameOf)]
      .sort((a, b) => b[1] - a[1])
      .slice(0, SHOWN)
      .map(line)
      .join('\n')
  return `Self time by function\n${top(({ name, file }) => `${name}  ${file}`)}\n\nSelf time by file\n${top(({ file }) => file)}`
}

function selfTimes({ nodes, samples, timeDeltas }) {
  const sourceOf = createSourceLookup()
  const us = new Map()
  for (const [index, id] of samples.entries()) us.set(id, (us.get(id) ?? 0) + timeDeltas[index])
  return nodes
    .filter(({ callFrame }) => callFrame.functionName !== '(idle)')
    .map(({ id, callFrame }) => ({
      name: callFrame.functionName || '(anonymous)',
      file: sourceOf(callFrame),
      us: us.get(id) ?? 0,
    }))
}

function totalsBy(list, nameOf) {
  const totals = new Map()
  for (const item of list) totals.set(nameOf(item), (totals.get(nameOf(item)) ?? 0) + item.us)
  return totals
}

/** A function's source file: the path that the build left above it in a joined file, else the file itself. */
function createSourceLookup() {
  const marks = new Map()
  return ({ url, lineNumber }) => {
    if (!url.startsWith('file:')) return url === '' ? '(native)' : url
    if (!marks.has(url)) marks.set(url, marksOf(fileURLToPath(url)))
    const mark = marks.get(url).findLast(({ line }) => line <= lineNumber)
    return mark?.path ?? url.slice(url.lastIndexOf('/', url.lastIndexOf('/') - 1) + 1)
  }
}

const marksOf = (path) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((text, line) => {
      const mark = MODULE_MARK.exec(text)?.[1]
      return mark === undefined ? [] : [{ line, path: mark }]
    })

const sum = (values) => values.reduce((total, value) => total + value, 0)
