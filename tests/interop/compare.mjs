/** Whether a client saw the same directly and through the gateway. */
import { isDeepStrictEqual } from 'node:util'

/** What each hop says for itself: how long a list may be cached, who serves, and the token of its own request. */
const PER_HOP = new Set(['ttlMs', 'cacheScope', 'progressToken'])
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'

function withoutHop(value) {
  if (Array.isArray(value)) return value.map(withoutHop)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([key]) => !PER_HOP.has(key) && key !== SERVER_INFO)
  return Object.fromEntries(
    entries
      .map(([key, inner]) => [key, withoutHop(inner)])
      .filter(([key, inner]) => !(key === '_meta' && isEmpty(inner))),
  )
}

const isEmpty = (value) => value === null || (typeof value === 'object' && Object.keys(value).length === 0)

/** @returns {Record<string, {verdict: 'same' | 'differs' | 'not offered' | 'only through', detail?: string}>} */
export function compare(direct, through) {
  return Object.fromEntries(
    Object.keys(direct).map((feature) => [feature, compareFeature(direct[feature], through[feature])]),
  )
}

function compareFeature(direct, through) {
  if (direct.error !== undefined && through.error !== undefined) return { verdict: 'not offered', detail: direct.error }
  if (direct.error !== undefined) return { verdict: 'only through', detail: direct.error }
  if (through.error !== undefined) return { verdict: 'differs', detail: through.error }
  const [one, other] = [withoutHop(direct.saw), withoutHop(through.saw)]
  if (isDeepStrictEqual(one, other)) return { verdict: 'same' }
  return { verdict: 'differs', detail: firstDifference(one, other, '') }
}

function firstDifference(one, other, path) {
  const areObjects = [one, other].every((value) => typeof value === 'object' && value !== null)
  if (!areObjects) return `${path || 'it'}: directly ${show(one)}, through the gateway ${show(other)}`
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  const key = keys.find((name) => !isDeepStrictEqual(one[name], other[name]))
  return key === undefined ? `${path}: another kind of object` : firstDifference(one[key], other[key], `${path}.${key}`)
}

const show = (value) => (value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 160))
