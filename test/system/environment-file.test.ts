// Goal: commands find in the file of settings what the service finds. Method: what systemd 252 and
// 257 made of these very lines (`systemd-run --property EnvironmentFile=… env -0`).

import { expect } from 'chai'
import { parseEnvironmentFile } from '../../src/system/environment-file.ts'

const LINES = String.raw`# a comment with NONE=x
; another
PLAIN=one two
HASH=a#b #c
SHELL_SIGNS=$HOME${'`'}id${'`'}
SINGLE='it # is $x \n'
DOUBLE="say \"hi\" \$x \\ \n"
JOINED="a"'b' c
INNER=it's "fine"
ESCAPED=a\b\\c\ d
CONTINUED=one \
two
CONTINUED_QUOTE="one \
two"
LINES="one
two"
  SPACED  =  x   
TRAIL=x\  
EMPTY=
QUOTED_EMPTY=""
export EXPORTED=x
1BAD=x
NOTHING
LATE="a" # not a comment
TWICE=1
TWICE=2
OPEN='never ends`

describe('a file of settings', () => {
  it('means to commands what it means to systemd', () => {
    expect(parseEnvironmentFile(LINES)).to.deep.equal({
      PLAIN: 'one two',
      HASH: 'a#b #c',
      SHELL_SIGNS: '$HOME`id`',
      SINGLE: String.raw`it # is $x \n`,
      DOUBLE: String.raw`say "hi" $x \ \n`,
      JOINED: 'abc',
      INNER: `it's "fine"`,
      ESCAPED: String.raw`ab\c d`,
      CONTINUED: 'one two',
      CONTINUED_QUOTE: 'one two',
      LINES: 'one\ntwo',
      SPACED: 'x',
      TRAIL: 'x ',
      EMPTY: '',
      QUOTED_EMPTY: '',
      LATE: 'a# not a comment',
      TWICE: '2',
      OPEN: 'never ends',
    })
  })

  it('may have lines that end as on Windows, or in the middle', () => {
    expect(parseEnvironmentFile('A="x\r\ny"\r\nB=x\r\nC=x \\')).to.deep.equal({
      A: 'x\r\ny',
      B: 'x',
      C: 'x ',
    })
  })
})
