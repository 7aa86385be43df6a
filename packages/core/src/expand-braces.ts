/** Every text that `{a,b}` stands for, nested ones too; `\` keeps the next character as it is. Undefined when a brace is left open, or when there are too many. */
export function expandBraces(text: string, most: number): readonly string[] | undefined {
  const open = indexOutsideEscapes(text, '{')
  if (open < 0) return [text]
  const parts = splitAlternatives(text, open + 1)
  if (parts === undefined || parts.choices.length > most) return undefined
  const before = text.slice(0, open)
  const after = expandBraces(text.slice(parts.end), most)
  if (after === undefined) return undefined
  const expanded: string[] = []
  for (const choice of parts.choices)
    for (const middle of expandBraces(choice, most) ?? [undefined]) {
      if (middle === undefined || expanded.length + after.length > most) return undefined
      for (const end of after) expanded.push(before + middle + end)
    }
  return expanded
}

function indexOutsideEscapes(text: string, wanted: string): number {
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === wanted) return at
  }
  return -1
}

/** The texts between the commas of one pair of braces, and where what follows it begins. */
function splitAlternatives(text: string, from: number): { choices: readonly string[]; end: number } | undefined {
  const choices: string[] = []
  let begin = from
  let depth = 1
  for (let at = from; at < text.length; at++) {
    const char = text[at]
    if (char === '\\') at++
    else if (char === '{') depth++
    else if (char === ',' && depth === 1) {
      choices.push(text.slice(begin, at))
      begin = at + 1
    } else if (char === '}' && --depth === 0) {
      choices.push(text.slice(begin, at))
      return { choices, end: at + 1 }
    }
  }
  return undefined
}
