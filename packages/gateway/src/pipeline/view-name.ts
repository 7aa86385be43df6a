import type { Principal } from '@sallyport/core'

/** Lists of selectors by number: a token has one and the same for as long as it counts. */
const numbers = new WeakMap<readonly string[], number>()
let lastNumber = 0

/** By caller: it is asked for with each call, and a caller that was seen before is the same object. */
const names = new WeakMap<Principal, string>()

/** The same for all who see the same. */
export function viewKeyOf(principal: Principal): string {
  const known = names.get(principal)
  if (known !== undefined) return known
  const name = formatViewKey(principal)
  names.set(principal, name)
  return name
}

/** Agents and profiles hold no line break: see isPrintableName. */
function formatViewKey({ agent, profile, madeFor, tools }: Principal): string {
  const plain = `${agent}\n${profile}`
  if (madeFor === undefined && tools === undefined) return plain
  return `${plain}\n${madeFor?.agent ?? ''}\n${madeFor?.profile ?? ''}\n${tools ? numberOf(tools) : ''}`
}

function numberOf(tools: readonly string[]): number {
  const known = numbers.get(tools)
  if (known !== undefined) return known
  numbers.set(tools, ++lastNumber)
  return lastNumber
}
