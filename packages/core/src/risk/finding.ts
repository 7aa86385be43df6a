/** The kinds of findings. */
export type FindingKind =
  /** Characters that a reader cannot see. */
  | 'hidden'
  /** White space or short lines that push the rest out of view. */
  | 'padding'
  /** Markup that is not displayed: comments, styles that hide. */
  | 'comment'
  /** Text in an encoding that people cannot read. */
  | 'encoded'
  /** Words that address the model instead of describing the tool. */
  | 'instruction'
  /** Words that promote this tool over others. */
  | 'preference'
  /** A URL through which data would leak. */
  | 'exfiltration'
  /** A parameter whose name asks for private data that the tool does not need. */
  | 'parameter'
  | 'other-tool'
  | 'remote-ref'
  /** The input schema cannot be used to check arguments. */
  | 'schema'
  /** The server has used up its share of entries. */
  | 'share'

/** Something in a definition that a person should review before the tool is used. */
export interface Finding {
  readonly kind: FindingKind
  /** The location in the definition. `where` and `text` are one line, shortened, with invisible characters escaped. */
  readonly where: string
  readonly text: string
}

/** A finding for a person. Two findings are the same if these strings are equal. */
export const formatFinding = ({ kind, where, text }: Finding): string => `${kind} in ${where}: ${text}`
