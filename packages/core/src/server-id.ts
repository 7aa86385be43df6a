const SERVER_ID = /^[a-z0-9]+(-[a-z0-9]+)*$/
const MAX_LENGTH = 40

export function isServerId(text: string): boolean {
  return text.length <= MAX_LENGTH && SERVER_ID.test(text)
}

/** A server id for a name that somebody else chose; empty when nothing of it can be kept. */
export function slugServerId(name: string): string {
  return name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_LENGTH)
    .replaceAll(/^-+|-+$/g, '')
}
