// Prints what happens, in lines of at most 80 characters.
const WIDTH = 80

export const heading = (text) => console.log(`\n${text}\n${'-'.repeat(text.length)}`)
export const say = (text) => console.log(wrap(text, ''))
export const show = (text, indent = '    ') => console.log(wrap(text, indent))

function wrap(text, indent) {
  return text
    .trimEnd()
    .split('\n')
    .flatMap((line) => wrapLine(line, WIDTH - indent.length))
    .map((line) => `${indent}${line}`.trimEnd())
    .join('\n')
}

/** Breaks between words; longer ones are cut. Tables keep their spaces. */
const wrapLine = (line, width) =>
  line.length <= width ? [line] : line.match(new RegExp(`\\S.{0,${width - 1}}(?=\\s|$)|\\S.{${width - 1}}`, 'g'))
