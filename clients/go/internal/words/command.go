package words

import "strings"

// The commands after which a connection answers otherwise, or as another user, or of its own.
var ofConnection = map[string]bool{
	"ASKING": true, "AUTH": true, "CLIENT CACHING": true, "CLIENT REPLY": true,
	"CLIENT TRACKING": true, "DISCARD": true, "EXEC": true, "HELLO": true, "MONITOR": true,
	"MULTI": true, "PSUBSCRIBE": true, "PSYNC": true, "PUNSUBSCRIBE": true, "QUIT": true,
	"READONLY": true, "READWRITE": true, "REPLCONF": true, "RESET": true, "RL.SYNC": true,
	"SELECT": true, "SSUBSCRIBE": true, "SUBSCRIBE": true, "SUNSUBSCRIBE": true, "SYNC": true,
	"UNSUBSCRIBE": true, "UNWATCH": true, "WATCH": true,
}

// OfConnection returns the name of a command, and whether it changes its connection.
func OfConnection(words []string) (name string, isOfConnection bool) {
	name = strings.ToUpper(words[0])
	if name == "CLIENT" && len(words) > 1 {
		name += " " + strings.ToUpper(words[1])
	}
	return name, ofConnection[name]
}
