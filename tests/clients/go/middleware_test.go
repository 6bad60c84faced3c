package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	weir "weir/client"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
)

const few = "3/" + never + ",fixed,name=few"

// The frameworks: functions that limit an application, which answers "hello" with the status that
// X-Status says, and the rows of the request's Decision.
var frameworks = map[string]func(*weir.Limiter, ...weir.Rule) http.Handler{
	"net/http": func(l *weir.Limiter, rules ...weir.Rule) http.Handler {
		return weir.Middleware(l, rules...)(http.HandlerFunc(hello))
	},
	"chi": func(l *weir.Limiter, rules ...weir.Rule) http.Handler {
		router := chi.NewRouter()
		router.Use(weir.Middleware(l, rules...))
		router.Get("/", hello)
		router.Options("/", hello)
		return router
	},
	"Gin": func(l *weir.Limiter, rules ...weir.Rule) http.Handler {
		gin.SetMode(gin.ReleaseMode)
		router := gin.New()
		router.Use(adapt(weir.Middleware(l, rules...)))
		handle := func(c *gin.Context) { hello(c.Writer, c.Request) }
		router.GET("/", handle)
		router.OPTIONS("/", handle)
		return router
	},
}

func hello(w http.ResponseWriter, r *http.Request) {
	if status, err := strconv.Atoi(r.Header.Get("X-Status")); err == nil {
		w.WriteHeader(status)
	}
	d, _ := weir.FromContext(r.Context())
	text := "hello"
	for _, row := range d.Limits {
		text += fmt.Sprintf(" %s %d", row.Name, row.Remaining)
	}
	_, _ = w.Write([]byte(text))
}

// A request, and the status of its answer.
type request struct {
	method string
	peer   string
	header map[string]string
}

func (q request) ask(handler http.Handler) *httptest.ResponseRecorder {
	if q.method == "" {
		q.method = "GET"
	}
	r := httptest.NewRequest(q.method, "/", nil)
	if q.peer != "" {
		r.RemoteAddr = q.peer
	}
	for name, value := range q.header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func (q request) statuses(handler http.Handler, times int) string {
	var found []string
	for i := 0; i < times; i++ {
		found = append(found, strconv.Itoa(q.ask(handler).Code))
	}
	return strings.Join(found, " ")
}

// Runs a test with each framework, and a server of its own.
func each(t *testing.T, test func(*testing.T, func(...weir.Rule) http.Handler)) {
	for name, protect := range frameworks {
		t.Run(name, func(t *testing.T) {
			l := patient(t, start(t).url(""))
			test(t, func(rules ...weir.Rule) http.Handler {
				return protect(l, append(rules, weir.Limits(few))...)
			})
		})
	}
}

func TestThreeOfTen(t *testing.T) {
	each(t, func(t *testing.T, protect func(...weir.Rule) http.Handler) {
		handler := protect()
		first := request{}.ask(handler)
		equal(t, first.Body.String(), "hello few 2")
		equal(t, first.Header().Get("RateLimit"), `"few";r=2`)
		equal(t, first.Header().Get("RateLimit-Policy"), `"few";q=3`)
		equal(t, first.Header().Get("Retry-After"), "")
		equal(t, request{}.statuses(handler, 8), "200 200 429 429 429 429 429 429")
		last := request{}.ask(handler)
		wait := last.Header().Get("Retry-After")
		equal(t, number(t, wait) > 86400, true)
		equal(t, last.Header().Get("RateLimit"), `"few";r=0;t=`+wait)
		equal(t, last.Header().Get("Content-Type"), "application/problem+json")
		var problem map[string]any
		check(t, json.Unmarshal(last.Body.Bytes(), &problem))
		equal(t, fmt.Sprint(problem["violated-policies"]), "[few]")
	})
}

func TestEachAddressHasItsOwn(t *testing.T) {
	each(t, func(t *testing.T, protect func(...weir.Rule) http.Handler) {
		handler := protect()
		equal(t, request{peer: "192.0.2.7:1"}.statuses(handler, 4), "200 200 200 429")
		equal(t, request{peer: "192.0.2.8:1"}.statuses(handler, 1), "200")
		equal(t, request{peer: "[2001:db8::1]:1"}.statuses(handler, 3), "200 200 200")
		equal(t, request{peer: "[2001:db8::2]:1"}.statuses(handler, 1), "429")
		equal(t, request{peer: "@"}.statuses(handler, 1), "500")
	})
}

func TestTrustedHops(t *testing.T) {
	each(t, func(t *testing.T, protect func(...weir.Rule) http.Handler) {
		handler := protect(weir.TrustedHops(1))
		from := func(forwarded string) request {
			return request{header: map[string]string{"X-Forwarded-For": forwarded}}
		}
		equal(t, from("203.0.113.9, 192.0.2.7").statuses(handler, 4), "200 200 200 429")
		equal(t, from("192.0.2.7, 192.0.2.8").statuses(handler, 1), "200")
		equal(t, request{}.statuses(handler, 1), "500")
	})
}

func TestTheKeyOfTheProgram(t *testing.T) {
	each(t, func(t *testing.T, protect func(...weir.Rule) http.Handler) {
		handler := protect(weir.Key(func(r *http.Request) string { return r.Header.Get("X-User") }))
		ann := request{header: map[string]string{"X-User": "ann"}}
		equal(t, ann.statuses(handler, 4), "200 200 200 429")
		equal(t, request{}.statuses(handler, 1), "500")
	})
}

func TestCostAndLegacyHeaders(t *testing.T) {
	each(t, func(t *testing.T, protect func(...weir.Rule) http.Handler) {
		handler := protect(weir.LegacyHeaders(), weir.Cost(func(*http.Request) int64 { return 2 }))
		first := request{}.ask(handler)
		equal(t, first.Header().Get("X-RateLimit-Limit"), "3")
		equal(t, first.Header().Get("X-RateLimit-Remaining"), "1")
		equal(t, request{}.statuses(handler, 1), "429")
	})
}

func TestSkip(t *testing.T) {
	each(t, func(t *testing.T, protect func(...weir.Rule) http.Handler) {
		preflight := request{method: "OPTIONS",
			header: map[string]string{"Access-Control-Request-Method": "POST"}}
		equal(t, preflight.statuses(protect(), 4), "200 200 200 200")
		handler := protect(weir.Skip(func(r *http.Request) bool { return true }))
		equal(t, request{}.statuses(handler, 4), "200 200 200 200")
	})
}

// Goal: only failures count. Method: six right answers, then failures.
func TestResponsesThatAreCharged(t *testing.T) {
	each(t, func(t *testing.T, protect func(...weir.Rule) http.Handler) {
		handler := protect(weir.ChargeWhen(func(status int, _ http.Header) bool {
			return status == http.StatusUnauthorized
		}))
		equal(t, request{}.statuses(handler, 6), "200 200 200 200 200 200")
		failing := request{header: map[string]string{"X-Status": "401"}}
		equal(t, failing.statuses(handler, 4), "401 401 401 429")
		equal(t, request{}.statuses(handler, 1), "429")
	})
}

// Goal: a handler that panics is charged as one that fails.
func TestAHandlerThatPanics(t *testing.T) {
	l := patient(t, start(t).url(""))
	isFailure := func(status int, _ http.Header) bool { return status >= 500 }
	handler := weir.Middleware(l, weir.Limits(few), weir.ChargeWhen(isFailure))(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a mistake") }))
	ask := func() (code int) {
		defer func() { _ = recover() }()
		return request{}.ask(handler).Code
	}
	for i := 0; i < 3; i++ {
		equal(t, ask(), 0)
	}
	equal(t, ask(), http.StatusTooManyRequests)
}

func TestAResponseOfTheProgram(t *testing.T) {
	each(t, func(t *testing.T, protect func(...weir.Rule) http.Handler) {
		handler := protect(weir.Denied(
			func(w http.ResponseWriter, _ *http.Request, d weir.Decision) {
				w.WriteHeader(420)
				_, _ = w.Write([]byte("slow down, " + d.Limits[0].Name))
			}))
		equal(t, request{}.statuses(handler, 3), "200 200 200")
		denied := request{}.ask(handler)
		equal(t, fmt.Sprint(denied.Code)+denied.Body.String(), "420slow down, few")
		equal(t, denied.Header().Get("Retry-After") != "", true)
	})
}

// Goal: without weir a closed Limiter answers 503, an open one passes, and each tells it once.
func TestWithoutWeir(t *testing.T) {
	url := fmt.Sprintf("redis://127.0.0.1:%d", closedPort(t))
	for name, protect := range frameworks {
		for choice, status := range map[string]int{"open": 200, "closed": 503} {
			t.Run(name+" "+choice, func(t *testing.T) {
				var causes []string
				l := patient(t, url, weir.Fail(choice), weir.OnUnavailable(
					func(cause string) { causes = append(causes, cause) }))
				answer := request{}.ask(protect(l, weir.Limits(few)))
				equal(t, answer.Code, status)
				equal(t, fmt.Sprint(causes), "[connection]")
				equal(t, answer.Header().Get("RateLimit")+answer.Header().Get("Retry-After"), "")
			})
		}
	}
}

// Goal: a request whose context was cancelled has not been answered "200", as its caller may be
// there.
func TestARequestThatIsCancelled(t *testing.T) {
	each(t, func(t *testing.T, protect func(...weir.Rule) http.Handler) {
		ctx, cancel := context.WithCancel(background)
		cancel()
		w := httptest.NewRecorder()
		protect().ServeHTTP(w, httptest.NewRequest("GET", "/", nil).WithContext(ctx))
		equal(t, w.Code, http.StatusServiceUnavailable)
		equal(t, w.Body.String(), "")
	})
}

// Goal: a service and a proxy tell callers the same. Method: one key is denied by both.
func TestADenialIsToldAsByCheck(t *testing.T) {
	port := freePort(t)
	s := start(t, "--http-port", fmt.Sprint(port))
	limits := []string{"1/h,name=few", "2/d,fixed,name=daily", "5/s,shadow,name=trial"}
	l := patient(t, s.url(""))
	words := append([]string{"k"}, limits...)
	equal(t, allow(t, l, words...).Allowed, true)
	query := "key=k&limit=" + strings.Join(limits, "&limit=")
	url := fmt.Sprintf("http://127.0.0.1:%d/check?%s", port, query)
	for {
		told, err := http.Get(url)
		check(t, err)
		told.Body.Close()
		d, err := l.Detailed().Peek(background, words...)
		check(t, err)
		status, _ := weir.Problem(d)
		equal(t, told.StatusCode, status)
		fields := map[string]string{}
		for _, field := range weir.Fields(d, false) {
			fields[field.Name] = field.Value
		}
		if told.Header.Get("Retry-After") != fields["Retry-After"] {
			continue // a second has passed between both
		}
		equal(t, told.Header.Get("RateLimit"), fields["RateLimit"])
		return
	}
}
