const SERVER_ID = /^[a-z0-9]+(-[a-z0-9]+)*$/
const MAX_LENGTH = 40

export function isServerId(text: string): boolean {
  return text.length <= MAX_LENGTH && SERVER_ID.test(text)
}

/** Makes a server id from any name; empty if the name has no usable character. */
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
