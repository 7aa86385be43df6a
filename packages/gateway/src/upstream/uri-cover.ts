/** A URI with more parts covers only itself: a hostile one could have a million. */
const MAX_LENGTH = 8_192
const MAX_PARTS = 64

/** The URI and those that it may be a part of: a server may report a part of what was subscribed to. */
export function coveringUris(uri: string): readonly string[] {
  const uris = [uri]
  if (uri.length > MAX_LENGTH) return uris
  const root = uri.indexOf('://')
  let end = uri.length - 1
  while (uris.length < MAX_PARTS * 2) {
    end = uri.lastIndexOf('/', end - 1)
    // What is before the authority is not a resource.
    if (end <= root + 2 || end <= 0) return uris
    uris.push(uri.slice(0, end + 1), uri.slice(0, end))
  }
  return uris
}
