export interface ElementOptions {
  readonly className?: string
  /** Set as text, always: much of what is shown was written by servers that nobody vouches for. */
  readonly text?: string
  readonly children?: readonly Node[]
}

export function createElement<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  { className, text, children = [] }: ElementOptions = {},
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  if (className !== undefined) element.className = className
  if (text !== undefined) element.textContent = text
  element.append(...children)
  return element
}

/** An element of index.html. */
export function getElement(id: string): HTMLElement {
  const element = document.getElementById(id)
  if (element === null) throw new Error(`The page has no element ${id}.`)
  return element
}
