import { defineCommand } from '../define-command.ts'
import { createChoiceParser } from '../terminal/choice-parser.ts'
import { completionScript, SHELLS, type Shell } from '../terminal/completion-script.ts'
import { createScreen } from '../terminal/screen.ts'

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
    if (screen.json) return screen.printJson({ shell, script: completionScript(shell) })
    screen.print(completionScript(shell))
  },
})
