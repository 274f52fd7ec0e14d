import SwiftUI

struct ContentView: View {
    @Binding var screen: String
    @State private var counter = Counter()
    @State private var history = History()

    var body: some View {
        if screen == "history" {
            HistoryView(history: history)
        } else {
            VStack(spacing: 24) {
                Text("\(counter.value)")
                    .font(.largeTitle)
                HStack {
                    Button("Less") { counter.decrease() }
                    Button("More") { counter.increase() }
                }
                Button("Keep") {
                    history.add(counter.value)
                    counter.reset()
                }
                Button("History") { screen = "history" }
            }
            .padding()
        }
    }
}

struct HistoryView: View {
    let history: History

    var body: some View {
        List {
            ForEach(history.entries, id: \.self) { entry in
                Text("\(entry)")
            }
            Text("Total: \(history.total)")
        }
    }
}
