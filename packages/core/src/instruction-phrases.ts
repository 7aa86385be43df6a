import { readableText } from './name-tokens.ts'

/** At most so many words in between, so that a search stays linear however the text repeats itself. */
const UP_TO_3 = String.raw`(?:[\w'-]{1,40}[ ,]{1,2}){0,3}?`
const UP_TO_6 = String.raw`(?:[\w'-]{1,40}[ ,]{1,2}){0,6}?`

const OWN_FILES = String.raw`(?:~/\.[\w/.-]{0,40}|/etc/(?:passwd|shadow)|[\w/.\${}%\\-]{0,40}(?:\.ssh\b[\w/.\\]{0,40}|id_rsa|mcp\.json|\.aws\b[\w/.\\]{0,40}))`
const SECRETS =
  '(?:credentials?|passwords?|secrets?|api keys?|private keys?|ssh keys?|access tokens?|environment variables)'

/** Words that speak to the model and not of the tool. Each was seen in an attack; none stands in a known server's text. */
const PHRASES: readonly RegExp[] = [
  // Other instructions are to be dropped.
  String.raw`\b(?:ignore|disregard|forget) ${UP_TO_3}(?:previous|prior|earlier|above|preceding|your|system|developer) ${UP_TO_3}(?:instructions?|directives?|prompts?|rules|guidelines|directions|messages|context)\b`,
  String.raw`\b(?:override|bypass|circumvent) ${UP_TO_3}(?:previous|prior|your|safety|security) ${UP_TO_3}(?:instructions?|prompts?|rules|guidelines|guardrails|checks|training)\b`,
  String.raw`\b(?:new|updated|real|actual|hidden|secret) instructions? ?:`,
  String.raw`\bfrom now on,? (?:you|always|never|ignore|the assistant)\b`,
  String.raw`\byou are now (?:a|an|in|the|dan|no longer|acting|operating)\b`,
  String.raw`\bas an? (?:ai|llm|language model)(?: \w+)?,? you (?:must|should|will|are)\b`,
  String.raw`\b(?:developer|god|admin|debug|jailbreak) mode (?:is )?(?:enabled|activated|on)\b`,
  // The person is not to know.
  String.raw`\b(?:do not|don't|never|must not|should not|shouldn't|avoid|without) ${UP_TO_3}(?:tell|telling|mention|mentioning|reveal|revealing|disclose|disclosing|inform|informing) ${UP_TO_6}(?:the )?(?:user|users|human|person|operator|anyone)\b`,
  String.raw`\b(?:do not|don't|never) ${UP_TO_3}(?:mention|reveal|disclose) (?:that|this|these|it|any of|the fact|having)\b`,
  String.raw`\bwithout (?:the )?(?:user|users|human)(?:'s)? ?'?(?:knowledge|knowing|awareness|noticing)\b`,
  String.raw`\b(?:user|human) (?:must|should|does|may|can|need) ?(?:not|never|n't) ${UP_TO_3}(?:know|notice|find out|be told|be aware|be informed)\b`,
  String.raw`\b(?:hide|conceal|keep) (?:this|it|that|these) ${UP_TO_3}(?:secret\b|from the (?:user|human)\b(?!'))`,
  String.raw`\b(?:do not|don't|never|must not) let (?:the )?(?:user|users|human|anyone) (?:know|see|notice|find out)\b`,
  // Other tools are to wait, or not to be used.
  String.raw`\b(?:before|prior to|instead of|after|whenever) ${UP_TO_3}(?:use|using|call|calling|invoke|invoking|run|running|execute|executing) (?:any|all|every|each)(?: of the)?(?: other)? (?:tools?|functions?)\b`,
  String.raw`\b(?:before|instead of) (?:any|all|every|each)(?: of the)? other (?:tools?|functions?)\b`,
  String.raw`\b(?:do not|don't|never) (?:use|call|invoke) (?:any )?other tools?\b`,
  String.raw`\bthis tool (?:overrides|supersedes|replaces|takes precedence over) (?:all|any|every|the) other\b`,
  // Something is to be brought along.
  String.raw`\b(?:read|open|cat|access|load|include|pass|send|copy|upload|attach) ${UP_TO_6}["'\x60(]?${OWN_FILES}`,
  String.raw`\bcontents? of ${UP_TO_3}["'\x60(]?${OWN_FILES}`,
  String.raw`\b(?:tools?|function) (?:on|with|for) ${UP_TO_3}["'\x60(]?${OWN_FILES}`,
  String.raw`\b(?:send|forward|upload|exfiltrate|leak|transmit|post) ${UP_TO_3}(?:the )?(?:user|users|human)(?:'s)?'? ${UP_TO_3}${SECRETS}\b`,
  String.raw`\b(?:include|pass|append|attach|send|forward|copy|put|reveal|repeat|print) ${UP_TO_6}(?:system prompt|(?:entire|full|whole|complete|your) (?:conversation|chat)|(?:all|your) (?:previous|prior) messages)\b`,
  // Marks that begin another voice.
  String.raw`<\/?(?:important|system|system[-_ ]?(?:prompt|reminder|message)|assistant|sys)(?: [^<>]{0,80})?>`,
  String.raw`<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)\|>|\[\/?inst\]|<<\/?sys>>`,
  String.raw`(?:^|\n) *(?:#+ *)?\[?(?:system|assistant|developer)(?: (?:prompt|message|note|override))?\]? ?: *(?:you|ignore|from now|always|never|new)\b`,
].map((pattern) => new RegExp(pattern, 'i'))

/** Most texts of a definition are keys and types: a word alone tells nobody anything. */
const PLAIN_WORD = /^[\w$.-]*$/

/** What was found, as it reads; nothing in a text that only describes. */
export function findInstruction(text: string): string | undefined {
  if (PLAIN_WORD.test(text)) return undefined
  const readable = readableText(text)
    .replaceAll(/[\u2018\u2019\u02bc]/g, "'")
    .replaceAll(/[\t\r\f\v\p{Zs}]+/gu, ' ')
  // Line ends count for marks at the beginning of a line; in between words they are spaces.
  const flowing = readable.replaceAll(/[ \n]+/g, ' ')
  for (const phrase of PHRASES) {
    const match = phrase.exec(flowing) ?? (readable === flowing ? null : phrase.exec(readable))
    if (match !== null) return match[0].trim()
  }
  return undefined
}
