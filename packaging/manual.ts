// The manual page and the completion for bash, from the commands themselves.

import type { Command } from 'commander'
import { allCommands } from '../src/cli/main.ts'
import type { Release } from './release.ts'

const ABOUT = `
.SH EXIT STATUS
0: done. 1: failed. 2: wrong usage or settings.
.SH FILES
.TP
.I /etc/thermolog/thermolog.env
Settings of the installed service, one KEY=value a line.
.TP
.I /var/lib/thermolog
Its data (DATA_DIR). No package ever deletes them.
.SH SEE ALSO
.I /usr/share/doc/thermolog/operations.md
has all settings, and what to do when.
`

/** @returns `thermolog.1`, as groff source */
export async function manualPage({ version, madeAtS }: Release): Promise<string> {
  const program = await allCommands()
  const day = new Date(madeAtS * 1000).toISOString().slice(0, 10)
  const head = [
    `.TH THERMOLOG 1 "${day}" "Thermolog ${version}"`,
    '.SH NAME',
    'thermolog \\- time-series ingestion service for temperature sensors',
    '.SH SYNOPSIS',
    '.B thermolog\n.I command\n[options]',
    '.SH COMMANDS',
  ]
  return `${[...head, ...leaves(program).map(describe)].join('\n')}${ABOUT}`
}

/** @returns a script that bash sources */
export async function bashCompletion(): Promise<string> {
  const cases = withBranches(await allCommands()).map((command) => {
    const words = [...command.commands.map((child) => child.name()), ...longOptions(command)]
    const path = pathOf(command).slice(1)
    return `    ${path.length === 0 ? "''" : `'${path.join(' ')}'`}) words='${words.join(' ')}' ;;`
  })
  return `# Completion of thermolog's commands and options; file names where neither fits.
_thermolog() {
  local word path='' words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] && break
    path="\${path:+$path }$word"
  done
  # An argument is no command: what comes before it says which options there are.
  while [[ -n $path ]] && ! _thermolog_words "$path"; do
    [[ $path == *' '* ]] && path=\${path% *} || path=''
  done
  _thermolog_words "$path"
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
_thermolog_words() {
  case $1 in
${cases.join('\n')}
    *) return 1 ;;
  esac
}
complete -o default -F _thermolog thermolog
`
}

function withBranches(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withBranches)]
}

function leaves(program: Command): Command[] {
  return withBranches(program).filter(({ commands }) => commands.length === 0)
}

function pathOf(command: Command): string[] {
  return command.parent === null ? [command.name()] : [...pathOf(command.parent), command.name()]
}

function longOptions({ options }: Command): string[] {
  return [...options.flatMap(({ long }) => long ?? []), '--help']
}

function describe(command: Command): string {
  const usage = `${pathOf(command).slice(1).join(' ')} ${command.usage()}`
  const options = command.options.map(({ flags, description }) => item(flags, description))
  const inner = options.length === 0 ? [] : ['.RS', ...options, '.RE']
  return [item(usage, command.description()), ...inner].join('\n')
}

function item(term: string, text: string): string {
  return `.TP\n.B ${escape(term)}\n${escape(text)}`
}

function escape(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/, '\\&$1')
}
