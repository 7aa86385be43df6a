import { didYouMean, SallyportError } from '@sallyport/core'

export interface KnownRoute {
  readonly method: string
  /** As the router writes it: `/api/servers/:id`. */
  readonly path: string
}

/** Why nothing answers there: a verb that the path does not take, or a path that is none. */
export function unknownRoute(method: string, path: string, known: readonly KnownRoute[]): SallyportError {
  const verbs = known.filter((route) => toPattern(route.path).test(path)).map((route) => route.method)
  if (verbs.length > 0)
    return new SallyportError('VERB_REFUSED', `${path} takes ${[...new Set(verbs)].join(' or ')}, not ${method}.`)
  const shown = path.slice(0, 200)
  const paths = new Set(known.map((route) => route.path))
  return new SallyportError('ROUTE_UNKNOWN', `There is no ${JSON.stringify(shown)}.${didYouMean(shown, paths)}`, {
    hint: 'All routes are described at /api/openapi.json.',
  })
}

/** The paths are our own, so that they may become regular expressions. */
const toPattern = (path: string): RegExp => new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`)
