// The words of a command as a terminal splits them: blanks part words, quotes keep blanks.

export function splitWords(text) {
  const words = [];
  for (const match of text.matchAll(/(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|[^\s"']+)+/g)) {
    words.push(match[0].replace(/"((?:[^"\\]|\\.)*)"|'([^']*)'/g, (all, double, single) =>
      single ?? double.replace(/\\(.)/g, '$1')));
  }
  return words;
}

// Without the name of the command, if the user has typed it, too.
export function withoutCommand(words) {
  return /^rl\.(peek|allow)$/i.test(words[0] ?? '') ? words.slice(1) : words;
}
