import { Check, Copy } from 'lucide-react'
import { useState } from 'react'

const SHOWN_MS = 1_500

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), SHOWN_MS)
  }
  return (
    <button className="btn btn-ghost btn-s" type="button" aria-label={label} onClick={() => void copy()}>
      {isCopied ? <Check className="i i-s" aria-hidden="true" /> : <Copy className="i i-s" aria-hidden="true" />}
      <span className="vh" role="status">
        {isCopied ? 'Copied' : ''}
      </span>
    </button>
  )
}

/** A command line to copy. */
export const Command = ({ text }: { readonly text: string }) => (
  <div className="cmd">
    <code>{text}</code>
    <CopyButton text={text} label="Copy the command" />
  </div>
)
