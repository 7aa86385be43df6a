/** Calls of one agent, or to one server. */
export interface NamedCalls {
  readonly name: string
  readonly calls: number
}

export interface Flow {
  readonly agents: readonly NamedCalls[]
  readonly servers: readonly NamedCalls[]
  /** By the rules alone. */
  readonly refused: number
  readonly asked: number
  readonly calls: number
}

/** Where the parts of the drawing are. */
export const FLOW = { width: 640, height: 224, left: 98, rules: 262, people: 426, right: 550, gate: 5 } as const

const TOP = 40
const STACK_HEIGHT = 130
const GAP = 16
/** Thinner bands would not be seen. */
const MIN_BAND = 2.5

export interface Band {
  readonly name: string
  readonly calls: number
  /** The middle of its end at the edge of the drawing. */
  readonly y: number
  readonly nodeTop: number
  readonly height: number
  readonly path: string
}

export interface FlowLayout {
  readonly agents: readonly Band[]
  readonly servers: readonly Band[]
  /** Between the gates: what passed at once, and what a person was asked about. */
  readonly passed: Rect
  readonly asked: Rect
  /** Before the first gate. */
  readonly refused: Rect
}

export interface Rect {
  readonly y: number
  readonly height: number
}

/** Bands are as thick as they have calls. */
export function layoutFlow({ agents, servers, refused, asked, calls }: Flow): FlowLayout {
  const passed = Math.max(0, calls - asked)
  const [passedHeight = 0, askedHeight = 0, refusedHeight = 0] = share(STACK_HEIGHT, [passed, asked, refused])
  const through = passedHeight + askedHeight
  return {
    agents: layoutSide(agents, { total: STACK_HEIGHT, inner: FLOW.rules, outer: FLOW.left }),
    servers: layoutSide(servers, { total: through, inner: FLOW.people + FLOW.gate, outer: FLOW.right }),
    passed: { y: TOP, height: passedHeight },
    asked: { y: TOP + passedHeight, height: askedHeight },
    refused: { y: TOP + through, height: refusedHeight },
  }
}

interface Side {
  /** Height of all bands at the gate. */
  readonly total: number
  readonly inner: number
  readonly outer: number
}

function layoutSide(all: readonly NamedCalls[], { total, inner, outer }: Side): readonly Band[] {
  const heights = share(
    total,
    all.map(({ calls }) => calls),
  )
  const needed = total + GAP * Math.max(0, all.length - 1)
  let [at, nodeTop] = [TOP, Math.max(6, TOP + (total - needed) / 2)]
  return all.map(({ name, calls }, index) => {
    const height = heights[index] ?? 0
    const band = {
      ...{ name, calls, height, nodeTop },
      y: nodeTop + height / 2,
      path: formatBand({ outer, inner, from: nodeTop, to: at, height }),
    }
    at += height
    nodeTop += Math.max(height, 12) + GAP
    return band
  })
}

interface BandEnds {
  readonly outer: number
  readonly inner: number
  readonly from: number
  readonly to: number
  readonly height: number
}

function formatBand({ outer, inner, from, to, height }: BandEnds): string {
  const middle = (outer + inner) / 2
  const curve = (start: number, end: number, x: number): string =>
    `C${middle} ${format(start)} ${middle} ${format(end)} ${x} ${format(end)}`
  return [
    `M${outer} ${format(from)}`,
    curve(from, to, inner),
    `L${inner} ${format(to + height)}`,
    `${curve(to + height, from + height, outer)}z`,
  ].join('')
}

const format = (value: number): string => value.toFixed(1)

/** Divides a height by numbers; what is too thin to be seen gets more, at the cost of the others. */
export function share(height: number, counts: readonly number[]): readonly number[] {
  const sum = counts.reduce((all, count) => all + count, 0)
  if (sum === 0) return counts.map(() => 0)
  const thin = (count: number): boolean => count > 0 && (count / sum) * height < MIN_BAND
  const reserved = counts.filter(thin).length * MIN_BAND
  const rest = counts.reduce((all, count) => (thin(count) ? all : all + count), 0)
  return counts.map((count) => (thin(count) ? MIN_BAND : rest === 0 ? 0 : (count / rest) * (height - reserved)))
}
