/** A server that can be chosen from, as the API lists it. */
export interface OfferedServer {
  readonly id: string
  readonly tools: readonly {
    readonly tool: string
    readonly selected: boolean
    readonly tokens: number
  }[]
}

/** What a profile selects, before it is saved. */
export interface ToolSelection {
  /** An explicit `[]`: the agent gets no tool. Otherwise an empty selection means all tools. */
  readonly isNone: boolean
  /** `whole`: the server with all tools that it will ever have. */
  readonly servers: ReadonlyMap<string, 'whole' | ReadonlySet<string>>
  /** Selectors that match nothing now. They are kept until somebody removes them. */
  readonly stale: readonly string[]
}

interface WrittenSelection {
  readonly selectors?: readonly string[] | undefined
  readonly stale: readonly string[]
  readonly servers: readonly OfferedServer[]
}

const NOTHING: ToolSelection = { isNone: false, servers: new Map(), stale: [] }

/** What the file selects. */
export function readSelection({ selectors, stale, servers }: WrittenSelection): ToolSelection {
  if (selectors === undefined) return NOTHING
  if (selectors.length === 0) return { ...NOTHING, isNone: true }
  const words = new Set(selectors)
  const selected = new Map<string, 'whole' | ReadonlySet<string>>()
  for (const { id, tools } of servers) {
    const names = tools.filter((tool) => tool.selected).map(({ tool }) => tool)
    const isWritten = words.has(id) || words.has(`${id}/*`)
    if (isWritten && names.length === tools.length) selected.set(id, 'whole')
    else if (names.length > 0) selected.set(id, new Set(names))
  }
  return { isNone: false, servers: selected, stale }
}

/** What is written to the file: `undefined` for all tools, `[]` for none. */
export function toSelectors(
  { isNone, servers, stale }: ToolSelection,
  offered: readonly OfferedServer[],
): readonly string[] | undefined {
  if (isNone) return []
  const chosen = offered.flatMap(({ id, tools }) => {
    const selected = servers.get(id)
    if (selected === undefined) return []
    if (selected === 'whole') return [id]
    return tools.filter(({ tool }) => selected.has(tool)).map(({ tool }) => `${id}/${tool}`)
  })
  const all = [...chosen, ...stale]
  return all.length === 0 ? undefined : all
}

/** Whether both are written in the same way. */
export const isSameSelection = (a: ToolSelection, b: ToolSelection, offered: readonly OfferedServer[]): boolean =>
  JSON.stringify(toSelectors(a, offered)) === JSON.stringify(toSelectors(b, offered))

export const isToolSelected = ({ servers }: ToolSelection, server: string, tool: string): boolean => {
  const selected = servers.get(server)
  return selected === 'whole' || (selected?.has(tool) ?? false)
}

/** Nothing is chosen and nothing stale is left: the agent gets all tools, unless `isNone`. */
export const isUnset = ({ isNone, servers, stale }: ToolSelection): boolean =>
  !isNone && servers.size === 0 && stale.length === 0

export const setNone = (isNone: boolean): ToolSelection => ({ ...NOTHING, isNone })

export const removeStale = (selection: ToolSelection, selector: string): ToolSelection => ({
  ...selection,
  stale: selection.stale.filter((one) => one !== selector),
})

export function toggleTool(selection: ToolSelection, server: OfferedServer, tool: string): ToolSelection {
  const before = selection.servers.get(server.id)
  const names = new Set(before === 'whole' ? server.tools.map((one) => one.tool) : before)
  if (!names.delete(tool)) names.add(tool)
  return withServer(selection, server.id, names)
}

/**
 * The box of a server: mixed or off becomes on, on becomes off. Of a server that a search shows only in part, only what
 * is shown changes.
 */
export function toggleServer(
  selection: ToolSelection,
  server: OfferedServer,
  shown: readonly { readonly tool: string }[],
): ToolSelection {
  const { id, tools } = server
  const isOn = extentOf(selection, id, shown) === 'all'
  if (shown.length === tools.length) return withServer(selection, id, isOn ? new Set() : 'whole')
  const before = selection.servers.get(id)
  const names = new Set(before === 'whole' ? tools.map(({ tool }) => tool) : before)
  for (const { tool } of shown) {
    if (isOn) names.delete(tool)
    else names.add(tool)
  }
  return withServer(selection, id, names)
}

/** Of these tools. A server without tools is on if it is chosen as a whole. */
export function extentOf(
  selection: ToolSelection,
  server: string,
  tools: readonly { readonly tool: string }[],
): 'all' | 'some' | 'none' {
  if (selection.servers.get(server) === 'whole') return 'all'
  const count = tools.filter(({ tool }) => isToolSelected(selection, server, tool)).length
  if (count === 0) return 'none'
  return count === tools.length ? 'all' : 'some'
}

function withServer(selection: ToolSelection, server: string, selected: 'whole' | ReadonlySet<string>): ToolSelection {
  const servers = new Map(selection.servers)
  if (selected === 'whole' || selected.size > 0) servers.set(server, selected)
  else servers.delete(server)
  return { ...selection, servers }
}

export interface SelectionSum {
  readonly tools: number
  /** Of definitions, in every turn. */
  readonly tokens: number
}

/** What is checked. */
export function sumSelected(selection: ToolSelection, offered: readonly OfferedServer[]): SelectionSum {
  return sum(offered, (server, tool) => isToolSelected(selection, server, tool))
}

/** What the agent gets: all tools if nothing is checked. */
export function sumGiven(selection: ToolSelection, offered: readonly OfferedServer[]): SelectionSum {
  return isUnset(selection) ? sumAll(offered) : sumSelected(selection, offered)
}

export const sumAll = (offered: readonly OfferedServer[]): SelectionSum => sum(offered, () => true)

function sum(offered: readonly OfferedServer[], counts: (server: string, tool: string) => boolean): SelectionSum {
  let tools = 0
  let tokens = 0
  for (const { id, tools: offers } of offered)
    for (const offer of offers)
      if (counts(id, offer.tool)) {
        tools++
        tokens += offer.tokens
      }
  return { tools, tokens }
}
