import { defineCommand } from '../define-command.ts'
import { createChoiceParser } from '../terminal/choice-parser.ts'
import { createScreen } from '../terminal/screen.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

/** Each script asks the program for proposals, so that it never gets out of date. */
const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# sallyport completion for bash: eval "$(sallyport completion bash)"
_sallyport_complete() {
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}") reply
  reply=$("\${COMP_WORDS[0]}" complete -- "\${words[@]}" 2>/dev/null) || return 0
  COMPREPLY=()
  while IFS=$'\\t' read -r word _; do
    [[ -n $word ]] && COMPREPLY+=("$word")
  done <<<"$reply"
  return 0
}
complete -o default -F _sallyport_complete sallyport
`,
  zsh: `#compdef sallyport
# sallyport completion for zsh: source <(sallyport completion zsh)
_sallyport() {
  local -a proposals
  local word brief
  while IFS=$'\\t' read -r word brief; do
    [[ -n $word ]] && proposals+=("\${word//:/\\\\:}:$brief")
  done < <("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( \${#proposals} )) && _describe 'sallyport' proposals || _default
}
compdef _sallyport sallyport
`,
  fish: `# sallyport completion for fish: sallyport completion fish | source
function __sallyport_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] complete -- $words[2..-1] 2>/dev/null
end
complete -c sallyport -a '(__sallyport_complete)'
`,
}

export const completionCommand = defineCommand<object, [Shell]>({
  brief: 'Print the script that completes commands in your shell',
  examples: [
    ['completion bash >> ~/.bashrc', 'For bash, in every new shell'],
    ['completion zsh >> ~/.zshrc', 'For zsh'],
    ['completion fish > ~/.config/fish/completions/sallyport.fish', 'For fish'],
  ],
  flags: {},
  positional: {
    kind: 'tuple',
    parameters: [
      {
        brief: SHELLS.join(', '),
        placeholder: 'shell',
        parse: createChoiceParser(SHELLS),
        proposeCompletions: () => SHELLS,
      },
    ],
  },
  run: (context, flags, shell) => {
    const screen = createScreen(context, flags)
    const script = SCRIPTS[shell]
    if (screen.json) return screen.printJson({ shell, script })
    screen.print(script)
  },
})
