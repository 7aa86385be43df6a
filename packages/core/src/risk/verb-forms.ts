/** `deletes`. */
export function thirdPerson(verb: string): string {
  if (/[^aeiou]y$/.test(verb)) return `${verb.slice(0, -1)}ies`
  return /(s|x|z|ch|sh)$/.test(verb) ? `${verb}es` : `${verb}s`
}

/** `deleting`, `dropping`, `applying`. */
export function progressive(verb: string): string {
  const stem = /[^aeiou]e$|ue$/.test(verb) ? verb.slice(0, -1) : verb
  const isShort = /^[^aeiou]*[aeiou][bdgklmnprt]$/.test(verb)
  return isShort ? `${verb}${verb.at(-1)}ing` : `${stem}ing`
}
