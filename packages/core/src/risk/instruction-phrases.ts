import { normalizeLookalikes } from './tokenize-name.ts'

/** At most 3 or 6 words in between, so that the search stays linear for any text. */
const UP_TO_3 = String.raw`(?:[\w'-]{1,40}[ ,]{1,2}){0,3}?`
const UP_TO_6 = String.raw`(?:[\w'-]{1,40}[ ,]{1,2}){0,6}?`

const OWN_FILES = String.raw`(?:~/\.[\w/.-]{0,40}|/etc/(?:passwd|shadow)|[\w/.\${}%\\-]{0,40}(?:\.ssh\b[\w/.\\]{0,40}|id_rsa|id_ed25519|mcp\.json|claude_desktop_config\.json|\.aws\b[\w/.\\]{0,40}|\.netrc|\.npmrc|\.git-credentials|\.bash_history|\.gnupg|wallet\.dat|\.env\b(?! (?:var|example|sample|template))))`
const SECRETS =
  '(?:credentials?|passwords?|secrets?|api[ _-]?keys?|private[ _-]?keys?|ssh[ _-]?keys?|(?:access|auth|session) tokens?|environment variables|cookies|seed phrases?)'
const TOOL = '(?:tools?|functions?|servers?)'
const USE =
  '(?:use|using|call|calling|invoke|invoking|run|running|execute|executing|choose|choosing|select|pick|prefer)'
const ADDRESS = String.raw`(?:\+\d{8,15}|0x[0-9a-f]{40}|[\w.+-]{1,60}@(?!example\.)[\w-]{1,60}\.\w{2,20})`

interface PhraseGroup {
  /** If it does not match, none of the phrases does. Most texts match no prefilter. */
  readonly prefilter: RegExp
  readonly phrases: readonly RegExp[]
}

const group = (prefilter: string, ...patterns: readonly string[]): PhraseGroup => ({
  prefilter: new RegExp(prefilter, 'i'),
  phrases: patterns.map((pattern) => new RegExp(pattern, 'i')),
})

/**
 * Phrases that address the model instead of describing the tool. Each was seen in an attack; none occurs in a known
 * server.
 */
const INSTRUCTIONS: readonly PhraseGroup[] = [
  // Tells the model to drop other instructions.
  group(
    'ignore|disregard|forget|override|bypass|circumvent|supersede',
    String.raw`\b(?:ignore|disregard|forget) ${UP_TO_3}(?:previous|prior|earlier|above|preceding|your|system|developer) ${UP_TO_3}(?:instructions?|directives?|prompts?|rules|guidelines|directions|messages|context)\b`,
    String.raw`\b(?:override|bypass|circumvent|supersede)s? ${UP_TO_3}(?:previous|prior|your|safety|security) ${UP_TO_3}(?:instructions?|prompts?|rules|guidelines|guardrails|checks|training)\b`,
  ),
  group(
    'instruction|from now on|you are now|as an? |mode',
    String.raw`\b(?:new|updated|real|actual|hidden|secret|system|mandatory|important system) instructions? ?:`,
    String.raw`\bfrom now on,? (?:you|always|never|ignore|the assistant)\b`,
    String.raw`\byou are now (?:a|an|in|the|dan|no longer|acting|operating)\b`,
    String.raw`\bas an? (?:ai|llm|language model)(?: \w+)?,? you (?:must|should|will|are)\b`,
    String.raw`\b(?:developer|god|admin|debug|jailbreak) mode (?:is )?(?:enabled|activated|on)\b`,
  ),
  group(
    'anterior|précédent|vorherig|bisherig|precedenti|предыдущ|предшеств|忽略|無視|无视|이전|önceki|eerdere|wcześniejsz|poprzedni',
    String.raw`\b(?:ignor[ae]|olvida|desestima) ${UP_TO_3}(?:instrucciones|instruções|instrucoes|ordenes) ${UP_TO_3}anterior`,
    String.raw`\b(?:ignore[zr]?|oublie[zr]?) ${UP_TO_3}(?:instructions|consignes) ${UP_TO_3}prec?[eé]dent`,
    String.raw`\b(?:ignorier|vergiss|missachte)\w{0,3} ${UP_TO_3}(?:vorherig|bisherig)\w{0,3} ${UP_TO_3}(?:anweisung|instruktion|befehl)`,
    String.raw`\bignora ${UP_TO_3}(?:istruzioni) ${UP_TO_3}precedenti`,
    String.raw`(?:忽略|無視|无视)[^。.\n]{0,20}(?:指令|指示|说明|說明|提示)|(?:指示|命令)[^。.\n]{0,10}(?:無視|忽略)|이전[^.\n]{0,20}(?:지시|명령)[^.\n]{0,10}무시`,
  ),
  // Tells the model to hide something from the user.
  group(
    'tell|mention|reveal|disclos|inform|notif|user|human|secret|hide|conceal|keep|anyone|alert',
    String.raw`\b(?:do not|don't|never|must not|should not|shouldn't|avoid|without) ${UP_TO_3}(?:tell|telling|mention|mentioning|reveal|revealing|disclose|disclosing|inform|informing|alert|alerting|notify|notifying|show|showing) ${UP_TO_6}(?:to )?(?:the )?(?:user|users|human|person|operator|anyone)\b(?! (?:id|name|email|list|data)s?\b)`,
    String.raw`\b(?:do not|don't|never) ${UP_TO_3}(?:mention|reveal|disclose) (?:that|this|these|it|any of|the fact|having)\b`,
    String.raw`\bwithout (?:the )?(?:user|users|human)(?:'s)? ?'?(?:knowledge|knowing|awareness|noticing)\b`,
    String.raw`\b(?:user|human) (?:must|should|does|may|can|need) ?(?:not|never|n't) ${UP_TO_3}(?:know|notice|find out|be told|be aware|be informed)\b`,
    String.raw`\b(?:hide|conceal|keep) (?:this|it|that|these) ${UP_TO_3}(?:secret\b|from the (?:user|human)\b(?!'))`,
    String.raw`\b(?:do not|don't|never|must not) let (?:the )?(?:user|users|human|anyone) (?:know|see|notice|find out)\b`,
    String.raw`\b(?:upset|alarm|scare|worry|confuse) the (?:user|human)\b`,
  ),
  group(
    'silently|secretly|covertly|quietly',
    String.raw`\b(?:silently|secretly|covertly|quietly) (?:read|send|call|include|add|append|forward|upload|copy|run|execute|invoke|collect|fetch|pass|attach)\b`,
  ),
  // Tells the model to delay or avoid other tools.
  group(
    "before|prior to|instead|after|whenever|never|do not|don't|this tool|when this|otherwise|unless",
    String.raw`\b(?:before|prior to|instead of|after|whenever) ${UP_TO_3}(?:use|using|call|calling|invoke|invoking|run|running|execute|executing) (?:any|all|every|each)(?: of the)?(?: other)? ${TOOL}\b`,
    String.raw`\b(?:before|instead of|rather than) (?:any|all|every|each)(?: of the)? other ${TOOL}\b`,
    String.raw`\b(?:do not|don't|never) ${USE} (?:any )?other tools?\b`,
    String.raw`\bthis tool (?:overrides|supersedes|replaces|takes precedence over) (?:all|any|every|the) other\b`,
    String.raw`\bwhen (?:this|the) (?:tool|server) is (?:available|present|installed|loaded|enabled|connected)\b`,
    String.raw`\b(?:otherwise|or else|or) (?:the|this) (?:tool|function|call) (?:will|does|would) (?:not work|fail|break|be (?:rejected|blocked))\b`,
    String.raw`\b(?:before|prior to) (?:performing|doing|starting|answering|responding to|handling|completing) (?:any|every|each)\b`,
  ),
  // Tells the model to pass on private data.
  group(
    String.raw`~/\.|/etc/|\.ssh|id_rsa|id_ed25519|mcp\.json|config\.json|\.aws|\.netrc|\.npmrc|\.git-cred|_history|\.gnupg|wallet|\.env`,
    String.raw`\b(?:read|open|cat|access|load|include|pass|send|copy|upload|attach|retrieve|fetch|dump|print|put) ${UP_TO_6}["'\x60(]?${OWN_FILES}`,
    String.raw`\bcontents? of ${UP_TO_3}["'\x60(]?${OWN_FILES}`,
    String.raw`\b(?:tools?|function) (?:on|with|for) ${UP_TO_3}["'\x60(]?${OWN_FILES}`,
  ),
  group(
    'credential|password|secret|key|token|environment|cookie|seed|system prompt|conversation|chat|messages',
    String.raw`\b(?:send|forward|upload|exfiltrate|leak|transmit|post|include|collect|extract|harvest|gather) ${UP_TO_3}(?:the |all |any )?(?:user|users|human)(?:'s)?'? ${UP_TO_3}${SECRETS}\b`,
    String.raw`\b(?:exfiltrate|leak|harvest|steal) ${UP_TO_6}(?:${SECRETS}|data|files?)\b`,
    String.raw`\b(?:include|pass|append|attach|send|forward|copy|put|reveal|repeat|print|insert|provide|return) ${UP_TO_6}(?:(?:your|the) system prompt\b(?! (?:of|for|to))|(?:entire|full|whole|complete|your) (?:conversation|chat)|(?:all|your|every) (?:previous|prior) (?:messages?|instructions?)|(?:conversation|chat) (?:history )?so far)\b`,
  ),
  group(
    '@|\\+\\d|0x',
    String.raw`\b(?:bcc|cc|forward|copy|send|redirect|reroute) ${UP_TO_6}(?:to|at|on)? ?["'\x60(<]?${ADDRESS}`,
    String.raw`\b(?:recipients?|receiver|phone number|destination|address|account|payee|beneficiary) ${UP_TO_3}(?:to|must be|should be|is|as|with|:) ?["'\x60(<]?${ADDRESS}`,
  ),
  group(
    'https?://',
    String.raw`\b(?:send|post|forward|upload|transmit|exfiltrate|report|copy|append|submit) ${UP_TO_6}(?:results?|responses?|contents?|data|conversation|history|messages?|tokens?|keys?|outputs?|summary|answers?|queries|query|input|arguments?|it|them|everything) ${UP_TO_3}(?:to|at|via|through) ${UP_TO_3}["'\x60(<]?https?://`,
  ),
  // Markers that imitate another role.
  group(
    String.raw`<|\[|system|assistant|developer|note|message|instruction|directive|important|critical|mandatory|urgent|confidential`,
    String.raw`<\/?(?:important|system|critical|mandatory|instructions?|secret|hidden|admin|system[-_ ]?(?:prompt|reminder|message|instruction|note)|assistant|sys)(?: [^<>]{0,80})?>`,
    String.raw`<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)\|>|\[\/?inst\]|<<\/?sys>>`,
    String.raw`(?:^|\n) *(?:#+ *)?\[?(?:system|assistant|developer)(?: (?:prompt|message|note|override))?\]? ?: *(?:you|ignore|from now|always|never|new)\b`,
    String.raw`\b(?:important|critical|mandatory|urgent|confidential) (?:system|hidden|internal|security|admin|llm|ai|assistant|agent) (?:note|instructions?|messages?|notice|directives?|requirements?|commands?)\b`,
    String.raw`\[(?:system|important|hidden|instructions?|note to (?:the )?(?:ai|model|llm|assistant|agent))\b`,
    String.raw`\b(?:note|message|instructions?|directive) (?:to|for) (?:the |any |all )?(?:ai|llm|language model|assistant|agent|model)s? ?[:(-]`,
  ),
]

/** Phrases that promote this tool whatever the user asked for. */
const PREFERENCES: readonly PhraseGroup[] = [
  group(
    'always|prefer|priorit|best tool|most |only |superior|deprecated|unreliable|unsafe|insecure|outdated|obsolete|inferior|must |default to|other tool|instead of|whenever|never|even if|first',
    String.raw`\balways ${USE} (?:this|it)(?: ${TOOL})?,? ?(?:first\b|instead\b|for (?:all|any|every)\b|regardless\b|no matter\b|[.!]|$)`,
    String.raw`\b(?:should|must) always (?:default to|prefer|use|choose|call) (?:this|the [\w-]{1,40}) ${TOOL}\b`,
    String.raw`\b${USE} this (?:${TOOL} )?(?:over|instead of|rather than|ahead of|in place of) (?:any|all|every|other|the other|another|built-?in|native|default|standard|similar|alternative|competing|existing)\b`,
    String.raw`\bprioriti[sz]e (?:this|our|my) (?:tool|function|server)\b`,
    String.raw`\bthis (?:tool|function|server) (?:has|takes|gets|should have|must have) (?:the )?(?:highest|top|absolute|first|maximum|higher) (?:priority|precedence)\b`,
    String.raw`\bthis (?:tool |function )?is the (?:best|only (?:trusted|safe|correct|reliable|official|approved)|most (?:reliable|accurate|powerful|trusted|secure|effective|advanced|comprehensive)|superior|number one)(?:[ ,]{1,2}[\w'-]{1,40}){0,5}? ${TOOL}\b`,
    String.raw`\b(?:other|similar|alternative|competing|existing|all other|built-?in|native) ${UP_TO_3}${TOOL} (?:are|is|have been|may be|should be considered) (?:now )?(?:deprecated|unreliable|unsafe|insecure|outdated|broken|inferior|obsolete|inaccurate|compromised|dangerous|disabled|malicious|not (?:safe|reliable|trusted))\b`,
    String.raw`\b(?:do not|don't|never|avoid) (?:use|using|call|calling|rely on|trust|trusting) ${UP_TO_3}(?:other|built-?in|native|alternative|competing) ${TOOL}\b`,
    String.raw`\bmust (?:always )?be (?:called|used|invoked|run|executed) ${UP_TO_3}before (?:any|all|every|each|other|anything)\b`,
    String.raw`\bmust (?:always )?${USE} this ${TOOL} (?:first|before (?:any|all|every|each|other|anything))\b`,
    String.raw`\bmust (?:always )?${USE} this ${TOOL} for (?:all|any|every|each)\b`,
    String.raw`\b${USE} this ${TOOL} (?:whenever|wherever|if at all) (?:possible|you can)\b`,
    String.raw`\b(?:should|must|is to) be preferred (?:to|over) (?:all|any|every|each|other)\b`,
    String.raw`\busers? (?:always )?(?:prefers?|wants?|trusts?) this (?:tool|server)\b`,
    String.raw`\b(?:call|use|run|invoke) (?:this|it)(?: ${TOOL})? first,? before (?:anything|any|all|every|each|doing)\b`,
    String.raw`\bnever ${USE} (?:another|any other|a different) (?:one|${TOOL})\b`,
    String.raw`\beven if (?:another|other|a different) (?:one|${TOOL})?s? ?(?:fits?|is|are|seems?|works?|suits?)\b`,
    String.raw`\b(?:only|exclusively) ${USE} this (?:tool|server) (?:for (?:all|any|every)|and (?:no|never))\b`,
  ),
]

/** Most texts of a definition are keys and types: a single word is no instruction. */
const PLAIN_WORD = /^[\w$.-]*$/

/** The matching phrase; `undefined` if the text only describes. */
export const findInstruction = (text: string): string | undefined => findPhrase(text, INSTRUCTIONS)

export const findPreference = (text: string): string | undefined => findPhrase(text, PREFERENCES)

function findPhrase(text: string, groups: readonly PhraseGroup[]): string | undefined {
  if (PLAIN_WORD.test(text)) return undefined
  const { readable, flowing } = normalizeText(text)
  for (const { prefilter, phrases } of groups) {
    if (!prefilter.test(flowing)) continue
    for (const phrase of phrases) {
      const match = phrase.exec(flowing) ?? (readable === flowing ? null : phrase.exec(readable))
      if (match !== null) return match[0].trim()
    }
  }
  return undefined
}

let lastNormalized = { text: '', readable: '', flowing: '' }

/** Caches the last text, because it is searched several times in a row. */
function normalizeText(text: string): { readonly readable: string; readonly flowing: string } {
  if (lastNormalized.text === text) return lastNormalized
  const readable = normalizeLookalikes(text)
    .replaceAll(/[\u2018\u2019\u02bc]/g, "'")
    // Markdown emphasis is ignored: "do **not** tell".
    .replaceAll(/\*{1,3}|(?<=\s|^)_{1,3}(?=\w)|(?<=\w)_{1,3}(?=\s|$)/g, '')
    .replaceAll(/[\t\r\f\v\p{Zs}]+/gu, ' ')
  // Line ends matter for markers at the beginning of a line. Between words they are spaces.
  lastNormalized = { text, readable, flowing: readable.replaceAll(/[ \n]+/g, ' ') }
  return lastNormalized
}
