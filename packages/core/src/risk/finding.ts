/** What kind of thing inspection found. */
export type FindingKind =
  /** Characters that a reader cannot see. */
  | 'hidden'
  /** White space or short lines that push the rest out of view. */
  | 'padding'
  /** Markup that a reader is not shown: comments, styles that hide. */
  | 'comment'
  /** Text in an encoding that people do not read. */
  | 'encoded'
  /** Words that speak to the model and not of the tool. */
  | 'instruction'
  /** Words that want this tool used in place of others. */
  | 'preference'
  /** An address to which data would leave. */
  | 'exfiltration'
  /** A parameter whose name asks for what the tool has no business with. */
  | 'parameter'
  | 'other-tool'
  | 'remote-ref'
  /** Its input schema cannot be used to check arguments. */
  | 'schema'
  /** Its server has used up its share of entries. */
  | 'share'

/** Something in a definition that a person should look at before it is used. */
export interface Finding {
  readonly kind: FindingKind
  /** The way to it inside the definition; both are one line, cut, with what does not show written out. */
  readonly where: string
  readonly text: string
}

/** A finding as a person reads it. Two findings are the same if this is. */
export const formatFinding = ({ kind, where, text }: Finding): string => `${kind} in ${where}: ${text}`
