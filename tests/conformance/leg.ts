import { REVISIONS, type Revision } from './suite.ts'

/** How the era behind the gateway relates to the one that the suite speaks in front of it. */
export const BEHIND = {
  mirrored: 'the same era only',
  dual: 'both eras',
  bridged: 'the other era only',
} as const
export type Behind = keyof typeof BEHIND

/** The server behind the gateway: our own, which is told its eras, or one of the official SDK, which speaks both. */
export const FIXTURES = ['own', 'sdk'] as const
export type Fixture = (typeof FIXTURES)[number]

/** One way through the gateway: the suite in front of it and our server behind, or our client in front and the suite behind. */
export type Leg =
  | {
      readonly side: 'server'
      readonly revision: Revision
      readonly fixture: Fixture
      readonly upstream: 'http' | 'stdio'
      readonly behind: Behind
    }
  | { readonly side: 'client'; readonly revision: Revision; readonly behind: Exclude<Behind, 'dual'> }

export const LEGS: readonly Leg[] = REVISIONS.flatMap((revision) => [
  ...FIXTURES.flatMap((fixture) =>
    (['http', 'stdio'] as const).flatMap((upstream) =>
      (['mirrored', 'dual', 'bridged'] as const).map(
        (behind) => ({ side: 'server', revision, fixture, upstream, behind }) as const,
      ),
    ),
  ),
  ...(['mirrored', 'bridged'] as const).map((behind) => ({ side: 'client', revision, behind }) as const),
])

/** `2025-11-25 server own stdio bridged`, `2026-07-28 client mirrored`. */
export function nameOf(leg: Leg): string {
  const server = leg.side === 'server' ? [leg.fixture, leg.upstream] : []
  return [leg.revision, leg.side, ...server, leg.behind].join(' ')
}

export function eraOf(revision: Revision): 'legacy' | 'modern' {
  return revision === '2026-07-28' ? 'modern' : 'legacy'
}

export function otherEra(revision: Revision): 'legacy' | 'modern' {
  return revision === '2026-07-28' ? 'legacy' : 'modern'
}
